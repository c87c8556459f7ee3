import { check, wholeFrom } from '../checks.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy, RpcRequest } from '../types.js';
import { admissible, contextOf, withContext } from './context.js';
import { probe, probing } from './probe.js';

/**
 * Another strategy's choice, if that answers a probe; else its next one. The default of `new Wayfinder()`, around
 * a `RandomRoutingStrategy`.
 *
 * A probe is a HEAD request to `probePath` on the gateway's own host. A gateway is probed again only if there is no
 * other.
 *
 * @example
 * const strategy = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider }) });
 */
export class PingRoutingStrategy implements RoutingStrategy {
  readonly name = 'ping';
  /** Whose choices are probed. */
  readonly routingStrategy: RoutingStrategy;
  /** Probes per selection. */
  readonly retries: number;
  /** Time for one probe, in milliseconds. */
  readonly timeoutMs: number;
  /** What is probed. */
  readonly probePath: string;
  /** The JSON-RPC call that is sent instead of HEAD. */
  readonly probeRequest: RpcRequest | undefined;
  readonly #provider: GatewaysProvider | undefined;

  /**
   * @param options.routingStrategy whose choices are probed; its own gateways provider is the one that counts
   * @param options.retries probes per selection, an integer from 1; 5 by default
   * @param options.timeoutMs time for one probe in milliseconds, above 0; 1000 by default
   * @param options.probePath path on the gateway's own host; `/` by default
   * @param options.probeRequest a JSON-RPC call to send instead; in an RPC client `eth_chainId` by default
   * @param options.gatewaysProvider a list to choose from instead of that of the inner strategy
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws RangeError a number is out of its range
   */
  constructor(options: {
    routingStrategy: RoutingStrategy;
    retries?: number;
    timeoutMs?: number;
    probePath?: string;
    probeRequest?: RpcRequest;
    gatewaysProvider?: GatewaysProvider | undefined;
    logger?: Logger;
  }) {
    const table = { ...probing, 'routingStrategy!': 'selectGateway', retries: wholeFrom(1) };
    const checked = check('PingRoutingStrategy', options, table);
    const { routingStrategy, retries = 5, timeoutMs = 1000, probePath = '/', probeRequest, gatewaysProvider } = checked;
    this.routingStrategy = routingStrategy;
    this.retries = retries;
    this.timeoutMs = timeoutMs;
    this.probePath = probePath;
    this.probeRequest = probeRequest;
    this.#provider = gatewaysProvider;
  }

  /**
   * Resolves to the first choice that answers its probe.
   *
   * @throws Error `No gateways available`, or `Failed to find working gateway after HEAD checks`
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const { path, subdomain, signal } = params;
    // The inner strategy is asked without a list if there is none: it has its own.
    const gateways = params.gateways ?? (await this.#provider?.getGateways());
    if (gateways?.length === 0) throw new Error('No gateways available');
    const failed: URL[] = [];
    let round: URL[] = [];
    let reason: unknown;
    for (let attempt = 0; attempt < this.retries; attempt += 1) {
      signal?.throwIfAborted();
      let gateway: URL | undefined;
      try {
        // When all have been asked they are asked again, only not the same one at once.
        if (gateways?.every((each) => round.includes(each))) round = gateways.length > 1 ? round.slice(-1) : [];
        gateway = await this.#next(params, gateways, round);
        if (gateway === undefined) continue;
        await probe(gateway, this, params);
        return gateway;
      } catch (error) {
        reason = error;
        if (gateway === undefined) continue;
        failed.push(gateway);
        round.push(gateway);
      }
    }
    signal?.throwIfAborted();
    // Nobody was there to be probed.
    if (failed.length === 0 && /^No gateways/.test(Object(reason).message)) throw reason;
    const cause = { gateways: gateways ?? failed, path, subdomain, retries: this.retries };
    throw new Error('Failed to find working gateway after HEAD checks', { cause });
  }

  /** A choice of the inner strategy that has not failed in this round, as far as there is one. */
  async #next(params: RoutingParams, gateways: URL[] | undefined, failed: URL[]): Promise<URL | undefined> {
    const list = gateways?.filter((gateway) => !failed.includes(gateway));
    const inner: RoutingParams = { ...params };
    if (list !== undefined) inner.gateways = list;
    if (failed.length > 0) inner.exclude = [...(params.exclude ?? []), ...failed];
    withContext(inner, contextOf(params));
    const chosen = await this.#ask(inner, failed);
    const isTried = list !== undefined && failed.includes(chosen);
    return admissible(params, isTried ? list : [chosen])[0];
  }

  /** Asks the inner strategy; without it once more if it has nothing but what has failed. */
  async #ask(inner: RoutingParams, failed: URL[]): Promise<URL> {
    try {
      return await this.routingStrategy.selectGateway(inner);
    } catch (error) {
      const [first] = failed;
      if (first === undefined) throw error;
      return first;
    }
  }
}
