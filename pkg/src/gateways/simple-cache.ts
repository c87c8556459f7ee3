import { Cached } from '../cached.js';
import { anything, atLeast, check } from '../checks.js';
import { isFilled } from './list.js';
import type { GatewaysProvider, Logger } from './types.js';

/**
 * Keeps another provider's list in memory. An old list is served while a new one is slow to come or does not come.
 *
 * @example
 * const provider = new SimpleCacheGatewaysProvider({
 *   gatewaysProvider: new TrustedPeersGatewaysProvider({ trustedGateway: 'https://turbo-gateway.com' }),
 *   ttlSeconds: 600,
 * });
 */
export class SimpleCacheGatewaysProvider implements GatewaysProvider {
  /** Where lists come from. */
  readonly gatewaysProvider: GatewaysProvider;
  /** How long a list is fresh, in seconds. */
  readonly ttlSeconds: number;
  readonly #logger: Logger | undefined;
  readonly #cache: Cached<URL[]>;

  /**
   * @param options.gatewaysProvider where lists come from
   * @param options.ttlSeconds how long a list is fresh in seconds, from 0 (nothing is kept); 3600 by default
   * @param options.logger where messages go; nowhere by default
   * @throws RangeError if `ttlSeconds` is not a finite number from 0
   */
  constructor(options: { gatewaysProvider: GatewaysProvider; ttlSeconds?: number; logger?: Logger }) {
    const table = { 'gatewaysProvider!': 'getGateways', ttlSeconds: atLeast(0), logger: anything };
    const { gatewaysProvider, ttlSeconds = 3_600, logger } = check('SimpleCacheGatewaysProvider', options, table);
    this.gatewaysProvider = gatewaysProvider;
    this.ttlSeconds = ttlSeconds;
    this.#logger = logger;
    this.#cache = new Cached<URL[]>(ttlSeconds * 1_000, isFilled);
  }

  /** Resolves to the list; never rejects: without any list it is `[]`. An empty list never replaces a good one. */
  getGateways(): Promise<URL[]> {
    return this.#cache.get(() => listOf(this.gatewaysProvider, this.#logger));
  }

  /** Forgets the list. */
  clearCache(): void {
    this.#cache.clear();
  }
}

/** The provider's list, or an empty one, which no cache takes for good. */
export async function listOf(provider: GatewaysProvider, logger: Logger | undefined): Promise<URL[]> {
  try {
    const list = await provider.getGateways();
    if (isFilled(list)) return list;
    logger?.warn('The gateways provider has no gateways.');
  } catch (error) {
    logger?.warn('The gateways provider failed.', error);
  }
  return [];
}
