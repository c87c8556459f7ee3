import { anything, check } from '../checks.js';
import type { Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import { CompositeRoutingStrategy } from './composite.js';
import { FastestPingRoutingStrategy } from './fastest-ping.js';
import { PingRoutingStrategy } from './ping.js';
import { StaticRoutingStrategy } from './static.js';

/**
 * A certain gateway while it answers a probe within a second, else the choice of another strategy.
 *
 * @example
 * const strategy = new PreferredWithFallbackRoutingStrategy({
 *   preferredGateway: 'https://my-gateway.example',
 *   fallbackStrategy: new RandomRoutingStrategy({ gatewaysProvider }),
 * });
 */
export class PreferredWithFallbackRoutingStrategy implements RoutingStrategy {
  readonly name = 'preferred-with-fallback';
  /** The gateway that is asked first. */
  readonly preferredGateway: URL;
  /** Who chooses if it does not answer. */
  readonly fallbackStrategy: RoutingStrategy;
  private readonly compositeStrategy: CompositeRoutingStrategy;

  /**
   * @param options.preferredGateway URL of the gateway to use while it answers
   * @param options.fallbackStrategy who chooses otherwise; a `FastestPingRoutingStrategy` by default
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws TypeError `Invalid URL`
   */
  constructor(options: { preferredGateway: string | URL; fallbackStrategy?: RoutingStrategy | undefined; logger?: Logger }) {
    const table = { preferredGateway: anything, fallbackStrategy: 'selectGateway', logger: anything };
    const checked = check('PreferredWithFallbackRoutingStrategy', options, table);
    const { preferredGateway, fallbackStrategy = new FastestPingRoutingStrategy() } = checked;
    this.preferredGateway = new URL(preferredGateway);
    this.fallbackStrategy = fallbackStrategy;
    const preferred = new PingRoutingStrategy({
      routingStrategy: new StaticRoutingStrategy({ gateway: this.preferredGateway }),
      retries: 1,
    });
    this.compositeStrategy = new CompositeRoutingStrategy({ strategies: [preferred, fallbackStrategy] });
  }

  /**
   * Resolves to the preferred gateway or the fallback's choice.
   *
   * @throws Error `All routing strategies failed to select a gateway`
   */
  selectGateway(params: RoutingParams = {}): Promise<URL> {
    return this.compositeStrategy.selectGateway(params);
  }
}
