/** Where gateways come from. */

export { CompositeGatewaysProvider } from './composite.js';
export { LocalStorageGatewaysProvider } from './local-storage.js';
export { NetworkGatewaysProvider } from './network.js';
export { SimpleCacheGatewaysProvider } from './simple-cache.js';
export { StaticGatewaysProvider } from './static.js';
export { TrustedPeersGatewaysProvider } from './trusted-peers.js';
export type { ARIORead, GatewaysProvider, Logger, NetworkGateway, SortBy, SortOrder } from './types.js';
