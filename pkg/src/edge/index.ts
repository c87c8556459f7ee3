/** The HTTP endpoint. */

export { strategiesFromEnv } from './env.js';
export { createRpcHandler } from './handler.js';
export type { ClientSource, ExecutionContext, RpcHandler, RpcHandlerOptions } from './handler.js';
export type { ClientLimit } from './guard.js';
export type { CorsOption } from './cors.js';
export * from './store/index.js';
