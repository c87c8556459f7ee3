import { anything, check } from '../checks.js';
import { strategyNumber } from '../engine.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import { candidates, contextOf } from './context.js';

/**
 * Any gateway, each with the same chance.
 *
 * @example
 * const strategy = new RandomRoutingStrategy({ gatewaysProvider });
 */
export class RandomRoutingStrategy implements RoutingStrategy {
  readonly name = 'random';
  /** Where gateways come from if a selection brings none. A client without another list puts its own here. */
  gatewaysProvider: GatewaysProvider | undefined;

  /**
   * @param options.gatewaysProvider where gateways come from if a selection brings none
   * @param options.logger accepted for Wayfinder's sake, without effect
   */
  constructor(options: { gatewaysProvider?: GatewaysProvider | undefined; logger?: Logger } = {}) {
    check('RandomRoutingStrategy', options, { gatewaysProvider: anything, logger: anything });
    this.gatewaysProvider = options.gatewaysProvider;
  }

  /**
   * Resolves to a gateway.
   *
   * @throws Error `No gateways available`
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const gateways = await candidates(params, this.gatewaysProvider);
    // The engine's draw can be repeated with a seed.
    const chosen =
      contextOf(params)?.pick(gateways, strategyNumber('load_balanced') ?? 0) ??
      gateways[Math.floor(Math.random() * gateways.length)];
    if (chosen === undefined) throw new Error('No gateways available');
    return chosen;
  }
}
