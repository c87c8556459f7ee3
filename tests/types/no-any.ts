/** Nothing that users touch is `any`: it would switch their compiler off. */

import type {
  AttemptEvent,
  ChainProvider,
  CircuitEvent,
  ClientEvents,
  ClientStatus,
  Explanation,
  JsonRpcResponse,
  RateLimitEvent,
  RequestEvent,
  RequestOptions,
  RoutingMeta,
  RpcClient,
  RpcClientOptions,
  RpcError,
  SendResult,
  WaypostError,
} from 'waypost';
import type { init } from 'waypost/web';
import { expectTrue } from './assert.js';
import type { Clean } from './assert.js';

expectTrue<Clean<RpcClient>>();
expectTrue<Clean<ChainProvider>>();
expectTrue<Clean<RpcClientOptions>>();
expectTrue<Clean<RequestOptions>>();
expectTrue<Clean<ClientEvents>>();
expectTrue<Clean<AttemptEvent>>();
expectTrue<Clean<RequestEvent>>();
expectTrue<Clean<CircuitEvent>>();
expectTrue<Clean<RateLimitEvent>>();
expectTrue<Clean<RoutingMeta>>();
expectTrue<Clean<SendResult<JsonRpcResponse>>>();
expectTrue<Clean<Explanation>>();
expectTrue<Clean<ClientStatus>>();
expectTrue<Clean<RpcError>>();
expectTrue<Clean<WaypostError>>();
expectTrue<Clean<typeof init>>();

// The helper itself: it looks into members, results, arguments, promises and lists.
// @ts-expect-error
expectTrue<Clean<{ deep: { member: any } }>>();
// @ts-expect-error
expectTrue<Clean<{ method(): any }>>();
// @ts-expect-error
expectTrue<Clean<{ method(first: string, second: any): void }>>();
// @ts-expect-error
expectTrue<Clean<() => Promise<any[]>>>();
// @ts-expect-error
expectTrue<Clean<{ maybe?: { member: any } }>>();
