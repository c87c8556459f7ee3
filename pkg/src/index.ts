/** What every entry of the package exports. */

export { createRpcClient, RpcClient } from './client.js';
export type { ChainProvider } from './client.js';
export * from './edge/index.js';
export { RpcError, WaypostError } from './errors.js';
export type { WaypostErrorCode, WaypostErrorReason } from './errors.js';
export * from './gateways/index.js';
export * from './routing/index.js';
export type { HedgeOptions } from './hedging.js';
export type { CacheOptions } from './reuse.js';
export type * from './types.js';
export * from './wayfinder/index.js';
