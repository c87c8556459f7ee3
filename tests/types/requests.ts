/** Requests, batches, errors and reports: what comes back has the type that it says. */

import { createRpcClient, RpcError, WaypostError } from 'waypost';
import type {
  AttemptClass,
  AttemptRecord,
  CircuitState,
  Explanation,
  JsonRpcResponse,
  RoutingMeta,
  SendResult,
  WaypostErrorCode,
  WaypostErrorReason,
} from 'waypost';
import { expectTrue } from './assert.js';
import type { Same } from './assert.js';

const rpc = createRpcClient({ providers: ['https://a.example'] });

const anything = await rpc.request({ method: 'eth_blockNumber' });
expectTrue<Same<typeof anything, unknown>>();
const block = await rpc.request<`0x${string}`>({ method: 'eth_blockNumber', params: [] });
expectTrue<Same<typeof block, `0x${string}`>>();
const bound = await rpc.chain(1, { strategy: 'fastest', profile: 'default' }).request<string[]>({ method: 'eth_accounts' });
expectTrue<Same<typeof bound, string[]>>();

// @ts-expect-error a request without a method
void rpc.request({ params: [] });
// @ts-expect-error params are a list or an object
void rpc.request({ method: 'eth_call', params: 'latest' });
// @ts-expect-error a result of unknown type must be looked at first
anything.toLowerCase();

const one = await rpc.send({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' });
expectTrue<Same<typeof one, SendResult<JsonRpcResponse>>>();
const many = await rpc.send([{ id: 'a', method: 'eth_chainId' }, { method: 'eth_gasPrice' }] as const, { deadlineMs: 500 });
expectTrue<Same<typeof many, SendResult<JsonRpcResponse[]>>>();
expectTrue<Same<(typeof one)['meta'], RoutingMeta>>();
expectTrue<Same<NonNullable<JsonRpcResponse['error']>, { code: number; message: string; data?: unknown }>>();

// @ts-expect-error an id is a string, a number or null
void rpc.send({ id: 1n, method: 'eth_chainId' });
// @ts-expect-error a batch has no single result
many.response.result;

// A bound provider takes no options, so that libraries cannot pass their own by accident.
// @ts-expect-error
void rpc.chain('ethereum').request({ method: 'eth_chainId' }, { deadlineMs: 1 });

const explained = rpc.explain({ method: 'eth_call', chain: 1, strategy: 'priority' });
expectTrue<Same<typeof explained, Explanation[]>>();
expectTrue<Same<Explanation['rank'], number | null>>();
expectTrue<Same<Explanation['circuit'], CircuitState>>();
// @ts-expect-error the ranking depends on the method
rpc.explain({ chain: 1 });

const { profiles, openRequests } = rpc.status();
expectTrue<Same<typeof openRequests, number>>();
// @ts-expect-error a profile or chain may not be there
profiles['default']['ethereum'].providers;

rpc.importState(JSON.parse(JSON.stringify(rpc.exportState())));

try {
  await rpc.request({ method: 'eth_call' });
} catch (error) {
  if (error instanceof RpcError) {
    expectTrue<Same<typeof error.code, number>>();
    expectTrue<Same<typeof error.data, unknown>>();
    expectTrue<Same<typeof error.attempts, readonly AttemptRecord[]>>();
  }
  if (error instanceof WaypostError) {
    expectTrue<Same<typeof error.reason, WaypostErrorReason>>();
    expectTrue<Same<typeof error.retryAfterMs, number | undefined>>();
    // @ts-expect-error a reason that does not exist
    if (error.reason === 'timeout') rpc.dispose();
  }
}
expectTrue<Same<NonNullable<AttemptRecord['class']>, AttemptClass>>();
expectTrue<Same<WaypostError['code'], WaypostErrorCode>>();

// Seen as what it is, the client ends with its block.
expectTrue<typeof rpc extends Disposable ? true : false>();
