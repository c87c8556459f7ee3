/** A JSON-RPC endpoint that speaks Lasso's HTTP surface. */

import { anything, callable, check } from '../checks.js';
import type { Table } from '../checks.js';
import { RpcClient } from '../client.js';
import { WaypostError } from '../errors.js';
import { internalsOf } from '../internals.js';
import type { Internals } from '../internals.js';
import { refuse } from '../refusal.js';
import { run } from '../run.js';
import type { Ticket } from '../ticket.js';
import type { RequestOptions } from '../types.js';
import { batchBody, errorPart, resultPart, streamedPart } from './answer.js';
import type { Part } from './answer.js';
import { readCalls } from './calls.js';
import type { Call } from './calls.js';
import { corsHeaders, preflight } from './cors.js';
import type { CorsOption } from './cors.js';
import { PassingErrand } from './errand.js';
import type { Budget, PassedEnding } from './errand.js';
import { Refusal, UnknownProfile } from './failure.js';
import { Buckets, checkToken, readBody } from './guard.js';
import type { ClientLimit } from './guard.js';
import { readInfo } from './info.js';
import { lassoMeta, metaHeaders } from './meta.js';
import { isReserved, readWish } from './path.js';
import type { Wish } from './path.js';
import { attachStore, storing } from './store/attach.js';
import type { AttachedStore } from './store/attach.js';
import type { StateStore } from './store/types.js';

/** Options of {@link createRpcHandler}. `Env` are the bindings. */
export interface RpcHandlerOptions<Env = never> {
  /** Which pages may call: all (`true`, default), none (`false`), or those of these origins. */
  cors?: CorsOption;
  /** Members of a batch: 1 to 1000, default 50. */
  maxBatch?: number;
  /** Bytes of a request's body: 1 to 2^31, default 8,388,608. */
  maxBodyBytes?: number;
  /**
   * Fetches to providers that one request may cause, failovers included: 1 to 10,000, default 45, since Workers
   * allow 50 on the free plan. Members of a batch that come too late get an error.
   */
  maxSubrequests?: number;
  /** Longest silence in the middle of a long answer in milliseconds: 1 to 86,400,000, default 30,000. */
  idleTimeoutMs?: number;
  /** Who knows one of these may call. Default: everybody may. */
  bearerToken?: string | readonly string[];
  /** Requests per second for each client. Default: no limit. */
  clientLimit?: ClientLimit;
  /** Where isolates share what they learn, or how to get it from the bindings. Default: each learns alone. */
  store?: StateStore | ((env: Env) => StateStore);
  /** Told what is wrong with the store. No request waits for it or fails by it. */
  onStoreError?: (error: unknown) => void;
}

/** What the platform gives beside a request. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

/** The default export of a Worker, or a part of one. */
export interface RpcHandler {
  fetch(request: Request, env?: unknown, ctx?: ExecutionContext): Promise<Response>;
}

/** A client, or how to make one of the bindings, which hold the keys. */
export type ClientSource<Env = never> = RpcClient | ((env: Env) => RpcClient);

/** Of the HTTP surface, as `/api/health` tells. */
const VERSION = '1.0';
/** Members of a batch that are under way at once. */
const CONCURRENCY = 4;
/** Methods that need a connection which stays, or a key of the node. */
const REFUSED = [
  'eth_subscribe',
  'eth_unsubscribe',
  'eth_sendTransaction',
  'personal_sign',
  'eth_sign',
  'eth_signTransaction',
  'eth_accounts',
];

/** A response object, and how it was routed. */
interface Done {
  part: Part | undefined;
  headers?: Record<string, string>;
}

const whole = (most: number, value: unknown): string | false =>
  !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most) && `an integer from 1 to ${most}`;

const OPTIONS: Table = {
  cors: (value) =>
    typeof value !== 'boolean' &&
    ![value].flat().every((origin) => typeof origin === 'string') &&
    'true, false, an origin or an array of origins',
  maxBatch: (value) => whole(1000, value),
  maxBodyBytes: (value) => whole(2 ** 31, value),
  maxSubrequests: (value) => whole(10_000, value),
  idleTimeoutMs: (value) => whole(86_400_000, value),
  bearerToken: anything,
  clientLimit: {
    'rps!': (value) => !(Number(value) > 0 && Number(value) < Infinity) && 'a number above 0',
    burst: (value) => whole(1_000_000, value),
    key: callable,
  },
  store: (value, path) => typeof value !== 'function' && storing(value, path),
  onStoreError: anything,
};

/**
 * Makes an HTTP endpoint of a client: `POST /rpc/:chain` and the rest of Lasso's surface, for Cloudflare Workers, Deno,
 * Bun and whatever else calls `fetch(request)`.
 *
 * @param source the client, or a function that makes one of the Worker's bindings (once for each `env`)
 * @param options who may call and how much
 * @throws WaypostError an option is wrong, or a chain has a name that paths cannot hold
 *
 * @example
 * interface Env { ETHEREUM_URL: string }
 * const handler = createRpcHandler((env: Env) => createRpcClient({ chains: { ethereum: { providers: [env.ETHEREUM_URL] } } }))
 * export default { fetch: handler.fetch }
 */
export function createRpcHandler<Env = Record<string, string>>(source: ClientSource<Env>, options: RpcHandlerOptions<Env> = {}): RpcHandler {
  check('createRpcHandler', options, OPTIONS);
  const { cors = true, maxBatch = 50, maxBodyBytes = 8_388_608, maxSubrequests = 45, idleTimeoutMs = 30_000 } = options;
  const { bearerToken = [], clientLimit, store, onStoreError } = options;
  const tokens = [bearerToken].flat();
  // A secret that was forgotten must not open the door.
  if ('bearerToken' in options && !(tokens.length > 0 && tokens.every((token) => typeof token === 'string' && token !== ''))) {
    throw new WaypostError('invalid_option', 'bearerToken must be a text that is not empty, or an array of them.');
  }
  const buckets = clientLimit && new Buckets(clientLimit, () => performance.now());
  if (typeof source !== 'function') checked(source);

  const attached = new WeakMap<RpcClient, AttachedStore | undefined>();
  const clients = new WeakMap<object, RpcClient>();
  /** Stands for the bindings where there are none. */
  const bare = {};
  /** Nothing may be timed before the first request: Workers have no clock then. */
  let started = 0;

  /** Bindings are one object for an isolate. */
  const clientOf = (env: unknown): RpcClient => {
    if (typeof source !== 'function') return source;
    const key = typeof env === 'object' && env !== null ? env : bare;
    let client = clients.get(key);
    if (client === undefined) clients.set(key, (client = checked(source(env as never))));
    return client;
  };

  const learntOf = (client: RpcClient, env: unknown): AttachedStore | undefined => {
    if (store === undefined || attached.has(client)) return attached.get(client);
    let learnt: AttachedStore | undefined;
    try {
      const target = typeof store === 'function' ? store(env as never) : store;
      learnt = attachStore(client, target, onStoreError && { onError: onStoreError });
    } catch (error) {
      onStoreError?.(error);
    }
    attached.set(client, learnt);
    return learnt;
  };

  const partOf = ({ core }: Internals, { id = '', method }: Call, ending: PassedEnding, extra: string, ticket: Ticket): Part => {
    switch (ending.kind) {
      case 'result':
        return resultPart(id, String(ending.result), extra);
      case 'error':
        return errorPart(id, ending.error, extra, ticket.selected());
      case 'failed': {
        const { failure } = ending;
        return errorPart(id, { code: -32000, message: failure.message, data: failure.toData() }, extra);
      }
      case 'stream': {
        const { place } = ending.provider;
        return streamedPart(id, ending, extra, idleTimeoutMs, (isWhole) => {
          core.tell((engine, now) => engine.endBody(now, place, core.method(method), isWhole));
        });
      }
      case 'aborted':
        return errorPart(id, { code: -32000, message: 'The request was aborted.' }, extra);
    }
  };

  /** One call, to its response object or to the stream of it. It never rejects. */
  const perform = async (
    internals: Internals,
    call: Call,
    wish: Wish,
    wanted: RequestOptions,
    budget: Budget,
    signal: AbortSignal,
  ): Promise<Done> => {
    const { id, fault, method } = call;
    const fail = (code: number, message: string): Done => ({ part: id === undefined ? undefined : errorPart(id, { code, message }) });
    if (fault !== undefined) return fail(-32600, fault);
    if (REFUSED.includes(method)) return fail(-32601, `Method not supported by proxy: ${method}`);
    try {
      const { ticket, payload } = internals.open(call, wanted);
      const passed = await run(ticket, new PassingErrand(ticket, payload, signal, budget), signal);
      const ending = passed.kind === 'stream' ? passed : await internals.confirm(ticket, passed, payload, wanted);
      const meta = wish.meta && ticket.meta();
      const extra = meta && wish.meta === 'body' ? `,"lasso_meta":${JSON.stringify(lassoMeta(meta))}` : '';
      const headers = meta && wish.meta === 'headers' ? metaHeaders(meta) : {};
      internals.afterwards(ticket, ending.kind === 'stream' ? { kind: 'result', result: undefined } : ending, payload);
      if (id !== undefined) return { part: partOf(internals, call, ending, extra, ticket), headers };
      // Nobody reads the answer to a notification.
      if (ending.kind === 'stream') ending.controller.abort();
      return { part: undefined, headers };
    } catch (error) {
      if (error instanceof WaypostError) return fail(error.reason === 'invalid_request' ? -32602 : -32000, error.message);
      throw error;
    }
  };

  const answer = async (
    request: Request,
    env: unknown,
    ctx: ExecutionContext | undefined,
    headers: Record<string, string>,
  ): Promise<Response> => {
    const url = new URL(request.url);
    const { method, signal } = request;
    checkToken(tokens, request);
    buckets?.take(request);
    const client = clientOf(env);
    const internals = internalsOf(client);
    const info = readInfo(internals.core, url, started, VERSION);
    if (info !== undefined) {
      const isRead = method === 'GET' || method === 'HEAD';
      if (!isRead) throw new Refusal(405, -32600, 'Method not allowed: use GET.', { allow: 'GET, HEAD, OPTIONS' });
      return json(method === 'HEAD' ? null : JSON.stringify(info), 'error' in info ? 404 : 200, headers);
    }
    const wish = readWish(url, request.headers);
    if (wish === undefined) throw new Refusal(404, -32600, 'Not found. Calls go to POST /rpc/:chain.');
    if (method !== 'POST') throw new Refusal(405, -32600, 'Method not allowed: use POST.', { allow: 'POST, OPTIONS' });
    const wanted = optionsOf(internals, wish);
    const { calls, isBatch } = readCalls(await readBody(request, maxBodyBytes), maxBatch);
    const learnt = learntOf(client, env);
    const later = ctx && ((promise: Promise<unknown>): void => ctx.waitUntil(promise));
    learnt?.touch(later);
    const budget = { left: maxSubrequests };
    const done = await inTurn(calls, (call) => perform(internals, call, wish, wanted, budget, signal));
    learnt?.touch(later);
    const parts = done.flatMap(({ part }) => part ?? []);
    const all = { ...headers, ...done[0]?.headers };
    if (parts.length === 0) return new Response(null, { status: 204, headers: all });
    return json(isBatch ? batchBody(parts) : (parts[0] ?? ''), 200, all);
  };

  return {
    async fetch(request, env, ctx) {
      started ||= Date.now();
      if (request.method === 'OPTIONS') return preflight(cors, request);
      const headers = corsHeaders(cors, request);
      return answer(request, env, ctx, headers).catch((error: unknown) => refusal(error, headers));
    },
  };
}

/** A client whose chains can all be named in a path. */
function checked(client: RpcClient): RpcClient {
  if (!(client instanceof RpcClient)) refuse('The client of createRpcHandler', 'an RpcClient or a function that returns one', client);
  for (const pools of internalsOf(client).core.topology.profiles.values()) {
    for (const name of pools.flatMap(({ chain, aliases }) => [chain, ...aliases])) {
      if (!isReserved(name)) continue;
      throw new WaypostError('invalid_option', `A chain of a handler cannot be called "${name}": in paths it means something else.`);
    }
  }
  return client;
}

/** The options of a call that a wish stands for, or why it cannot be had. */
function optionsOf({ resolve }: Internals, { meta: _, ...wish }: Wish): RequestOptions {
  // Without a name of a chain, the error lists them.
  const options = { chain: '', ...wish } as RequestOptions;
  try {
    resolve(options);
    return options;
  } catch (error) {
    if (!(error instanceof WaypostError)) throw error;
    const { message } = error;
    if (message.startsWith('Unknown profile')) throw new UnknownProfile(message);
    throw new Refusal(400, -32602, message.replace(/^Unknown chain/, 'Unsupported chain:'));
  }
}

/** Does the work for every item, a few at a time, and keeps their order. */
async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker));
  return results;
}

function json(body: BodyInit | null, status: number, headers: Record<string, string>): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers } });
}

function refusal(error: unknown, headers: Record<string, string>): Response {
  if (error instanceof Refusal) {
    const { status, code, message, data } = error;
    return json(errorPart('null', { code, message, ...(data && { data }) }), status, { ...headers, ...error.headers });
  }
  // Callers are strangers: what it was is for the log.
  console.error(`createRpcHandler: ${String(error)}`);
  return json(errorPart('null', { code: -32603, message: 'Internal error' }), 500, headers);
}
