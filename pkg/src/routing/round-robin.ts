import { Cached } from '../cached.js';
import { anything, check } from '../checks.js';
import { isFilled } from '../gateways/list.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import { admissible, urlsOf } from './context.js';

/** Used if nothing else is given. */
const BUILT_IN = ['https://turbo-gateway.com', 'https://g8way.io'];
/** How long a provider's list is kept: as long as a client's. */
const LIST_MS = 300_000;

/**
 * One gateway after the other.
 *
 * @example
 * const strategy = new RoundRobinRoutingStrategy({ gateways: [new URL('https://a.example'), new URL('https://b.example')] });
 */
export class RoundRobinRoutingStrategy implements RoutingStrategy {
  readonly name = 'round-robin';
  readonly #provider: GatewaysProvider | undefined;
  readonly #list = new Cached<URL[]>(LIST_MS, isFilled);
  #own: URL[] | undefined;
  #next = 0;

  /**
   * @param options.gateways the list; not together with `gatewaysProvider`
   * @param options.gatewaysProvider where the list comes from; kept for 5 minutes
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws Error `Cannot provide both gateways and gatewaysProvider`
   */
  constructor(options: { gateways?: URL[]; gatewaysProvider?: GatewaysProvider | undefined; logger?: Logger } = {}) {
    const table = { gateways: anything, gatewaysProvider: anything, logger: anything };
    const { gateways, gatewaysProvider } = check('RoundRobinRoutingStrategy', options, table);
    if (gateways !== undefined && gatewaysProvider !== undefined) {
      throw new Error('Cannot provide both gateways and gatewaysProvider');
    }
    this.#own = gateways;
    this.#provider = gatewaysProvider;
  }

  /**
   * Resolves to the next gateway of its own list; of the given one if it has none of its own.
   *
   * @throws Error `No gateways available`
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const list = await this.#gateways(params);
    const healthy = new Set(admissible(params, list));
    for (let step = 0; step < list.length; step += 1) {
      const gateway = list[(this.#next + step) % list.length];
      if (gateway === undefined || !healthy.has(gateway)) continue;
      this.#next = (this.#next + step + 1) % list.length;
      return gateway;
    }
    throw new Error('No gateways available');
  }

  async #gateways(params: RoutingParams): Promise<URL[]> {
    const provider = this.#provider;
    if (provider !== undefined) return this.#list.get(async () => urlsOf(await provider.getGateways()));
    if (this.#own === undefined && params.gateways !== undefined) return urlsOf(params.gateways);
    this.#own ??= BUILT_IN.map((url) => new URL(url));
    return this.#own;
  }
}
