/** The routing strategies, for both halves. */

export { CompositeRoutingStrategy } from './composite.js';
export { createRoutingStrategy } from './factory.js';
export type { RoutingOption } from './factory.js';
export { FastestPingRoutingStrategy } from './fastest-ping.js';
export { PingRoutingStrategy } from './ping.js';
export { PreferredWithFallbackRoutingStrategy } from './preferred.js';
export { RandomRoutingStrategy } from './random.js';
export {
  AdaptiveRoutingStrategy,
  FastestRoutingStrategy,
  LatencyWeightedRoutingStrategy,
  LoadBalancedRoutingStrategy,
  PriorityRoutingStrategy,
} from './ranked.js';
export type { RankedOptions } from './ranked.js';
export { RoundRobinRoutingStrategy } from './round-robin.js';
export { SimpleCacheRoutingStrategy } from './simple-cache.js';
export { StaticRoutingStrategy } from './static.js';
