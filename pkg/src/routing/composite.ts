import { anything, check } from '../checks.js';
import type { Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import { admissible } from './context.js';

const NAME = 'CompositeRoutingStrategy';

/**
 * Several strategies: the first that has a choice decides.
 *
 * @example
 * const strategy = new CompositeRoutingStrategy({
 *   strategies: [new FastestPingRoutingStrategy({ gatewaysProvider: few }), new RandomRoutingStrategy({ gatewaysProvider: many })],
 * });
 */
export class CompositeRoutingStrategy implements RoutingStrategy {
  readonly name = 'composite';
  private readonly strategies: RoutingStrategy[] = [];

  /**
   * @param options.strategies in the order in which they are asked
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws Error `At least one routing strategy must be provided`
   */
  constructor(options: { strategies: RoutingStrategy[]; logger?: Logger } = { strategies: [] }) {
    const { strategies } = check(NAME, options, { strategies: anything, logger: anything });
    if (!(strategies?.length > 0)) throw new Error('At least one routing strategy must be provided');
    for (const strategy of strategies) this.addStrategy(strategy);
  }

  /**
   * Resolves to the choice of the first strategy that has one.
   *
   * @throws Error `All routing strategies failed to select a gateway`; its cause has all their errors
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const errors: unknown[] = [];
    let refused: URL | undefined;
    for (const strategy of this.strategies) {
      params.signal?.throwIfAborted();
      try {
        const gateway: URL | null | undefined = await strategy.selectGateway(params);
        if (!gateway) continue;
        if (admissible(params, [gateway]).length > 0) return gateway;
        refused ??= gateway;
      } catch (error) {
        errors.push(error);
      }
    }
    params.signal?.throwIfAborted();
    // It may have failed already, and is all that there is.
    if (refused !== undefined) return refused;
    throw new Error('All routing strategies failed to select a gateway', { cause: errors });
  }

  /** Adds a strategy behind the others. */
  addStrategy(strategy: RoutingStrategy): void {
    check(NAME, strategy, 'selectGateway', 'strategy');
    this.strategies.push(strategy);
  }

  /** A copy of the list. */
  getStrategies(): RoutingStrategy[] {
    return [...this.strategies];
  }
}
