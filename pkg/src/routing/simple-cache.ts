import { bounded } from '../bounded.js';
import { Cached } from '../cached.js';
import { anything, atLeast, check } from '../checks.js';
import type { Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import { admissible, contextOf, withContext } from './context.js';

/**
 * Keeps the choice of another strategy for a while, for everything that is asked for. In a client of Waypost's a
 * request that fails ends it; elsewhere call `invalidate()`.
 *
 * @example
 * const strategy = new SimpleCacheRoutingStrategy({
 *   routingStrategy: new FastestPingRoutingStrategy({ gatewaysProvider }),
 *   ttlSeconds: 120,
 * });
 */
export class SimpleCacheRoutingStrategy implements RoutingStrategy {
  readonly name = 'simple-cache';
  /** Whose choice is kept. */
  readonly routingStrategy: RoutingStrategy;
  /** How long, in seconds. */
  readonly ttlSeconds: number;
  readonly #choice: Cached<URL>;

  /**
   * @param options.routingStrategy whose choice is kept
   * @param options.ttlSeconds how long a choice is fresh in seconds, from 0 (never); 300 by default
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws RangeError `ttlSeconds` is not a finite number from 0
   */
  constructor(options: { routingStrategy: RoutingStrategy; ttlSeconds?: number; logger?: Logger }) {
    const table = { 'routingStrategy!': 'selectGateway', ttlSeconds: atLeast(0), logger: anything };
    const { routingStrategy, ttlSeconds = 300 } = check('SimpleCacheRoutingStrategy', options, table);
    this.routingStrategy = routingStrategy;
    this.ttlSeconds = ttlSeconds;
    this.#choice = new Cached<URL>(ttlSeconds * 1000, (gateway) => gateway !== undefined);
  }

  /**
   * Resolves to the choice that is kept, or a new one. An old choice is better than none: it is served while
   * a new selection is slow or fails.
   *
   * @throws the inner strategy's error if there is no choice to serve
   */
  selectGateway(params: RoutingParams = {}): Promise<URL> {
    // Others wait for this selection too: one caller's signal must not end it.
    const { signal, ...shared } = params;
    withContext(shared, contextOf(params)?.lasting());
    const select = (): Promise<URL> =>
      this.#choice.get(
        async () => this.routingStrategy.selectGateway(shared),
        (gateway) => admissible(params, [gateway]).length > 0 && contextOf(params)?.trusts(gateway) !== false,
      );
    return signal === undefined ? select() : bounded(Infinity, signal, select);
  }

  /** Forgets the choice, as after a request that failed. */
  invalidate(): void {
    this.#choice.clear();
  }
}
