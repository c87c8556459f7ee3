import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { RoutingStrategy } from '../types.js';
import { FastestPingRoutingStrategy } from './fastest-ping.js';
import { PreferredWithFallbackRoutingStrategy } from './preferred.js';
import { RandomRoutingStrategy } from './random.js';
import { RoundRobinRoutingStrategy } from './round-robin.js';

/** Words for the usual strategies. */
export type RoutingOption = 'random' | 'fastest' | 'balanced' | 'preferred';

/** Whom `preferred` prefers. */
const PREFERRED = 'https://turbo-gateway.com';

/**
 * A strategy by its word: `random`, `fastest` (by ping), `balanced` (round robin), or `preferred`
 * (turbo-gateway.com, and the fastest if that is down); `undefined` for any other word.
 *
 * @example
 * const strategy = createRoutingStrategy({ strategy: 'fastest', gatewaysProvider });
 */
export function createRoutingStrategy(options: {
  strategy: RoutingOption;
  gatewaysProvider?: GatewaysProvider | undefined;
  logger?: Logger;
}): RoutingStrategy;
export function createRoutingStrategy(options: {
  strategy: string;
  gatewaysProvider?: GatewaysProvider | undefined;
  logger?: Logger;
}): RoutingStrategy | undefined {
  const { strategy, gatewaysProvider } = options;
  const settings = { gatewaysProvider };
  switch (strategy) {
    case 'random':
      return new RandomRoutingStrategy(settings);
    case 'fastest':
      return new FastestPingRoutingStrategy(settings);
    case 'balanced':
      return new RoundRobinRoutingStrategy(settings);
    case 'preferred':
      return new PreferredWithFallbackRoutingStrategy({
        preferredGateway: PREFERRED,
        fallbackStrategy: new FastestPingRoutingStrategy(settings),
      });
    default:
      return undefined;
  }
}
