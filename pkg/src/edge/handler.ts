/** A JSON-RPC endpoint that speaks Lasso's HTTP surface. */

import { checkKeys, checkMethod } from '../checks.js';
import { RpcClient } from '../client.js';
import { WaypostError } from '../errors.js';
import { internalsOf } from '../internals.js';
import type { Internals } from '../internals.js';
import { refuse } from '../refusal.js';
import { run } from '../run.js';
import type { Provider } from '../topology.js';
import type { RequestOptions, StrategyWord } from '../types.js';
import { batchBody, errorPart, resultPart, streamedPart } from './answer.js';
import type { Part } from './answer.js';
import { readCalls } from './calls.js';
import type { Call } from './calls.js';
import { corsHeaders, preflight } from './cors.js';
import type { CorsOption } from './cors.js';
import { PassingErrand } from './errand.js';
import type { Budget, PassedEnding } from './errand.js';
import { Refusal } from './failure.js';
import { Buckets, checkToken, readBody } from './guard.js';
import type { ClientLimit } from './guard.js';
import { readInfo, Unlisted } from './info.js';
import { lassoMeta, metaHeaders } from './meta.js';
import { isReserved, readWish } from './path.js';
import type { Wish } from './path.js';
import { attachStore } from './store/attach.js';
import type { AttachedStore } from './store/attach.js';
import type { StateStore } from './store/types.js';

/** Options of {@link createRpcHandler}. */
export interface RpcHandlerOptions {
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
  store?: StateStore | ((env: never) => StateStore);
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
export type ClientSource = RpcClient | ((env: never) => RpcClient);

const KEYS = ['cors', 'maxBatch', 'maxBodyBytes', 'maxSubrequests', 'idleTimeoutMs', 'bearerToken', 'clientLimit', 'store', 'onStoreError'];
/** Of the HTTP surface, as `/api/health` tells. */
const VERSION = '1.0';
/** Members of a batch that are under way at once. */
const CONCURRENCY = 4;
/** Methods that need a connection which stays, or a key of the node. */
const REFUSED = 'eth_subscribe eth_unsubscribe eth_sendTransaction personal_sign eth_sign eth_signTransaction eth_accounts'.split(' ');

/** A response object, and how it was routed. */
interface Done {
  part: Part | undefined;
  headers: Record<string, string>;
}

class Handler implements RpcHandler {
  readonly #clients = new WeakMap<object, RpcClient>();
  readonly #attached = new WeakMap<RpcClient, AttachedStore | undefined>();
  readonly #tokens: readonly string[];
  readonly #buckets: Buckets | undefined;
  readonly #cors: CorsOption;
  readonly #maxBatch: number;
  readonly #maxBodyBytes: number;
  readonly #maxSubrequests: number;
  readonly #idleMs: number;
  /** Of requests without bindings. */
  #bare: RpcClient | undefined;
  /** Nothing may be timed before the first request: Workers have no clock then. */
  #started = 0;

  constructor(
    readonly source: ClientSource,
    readonly options: RpcHandlerOptions,
  ) {
    checkKeys('createRpcHandler', options, KEYS);
    const { cors = true, maxBatch = 50, maxBodyBytes = 8_388_608, maxSubrequests = 45, idleTimeoutMs = 30_000 } = options;
    checkWhole('maxBatch', maxBatch, 1000);
    checkWhole('maxBodyBytes', maxBodyBytes, 2 ** 31);
    checkWhole('maxSubrequests', maxSubrequests, 10_000);
    checkWhole('idleTimeoutMs', idleTimeoutMs, 86_400_000);
    const { bearerToken = [], clientLimit, store } = options;
    // A secret that was forgotten must not open the door.
    if (clientLimit !== undefined) {
      checkKeys('clientLimit', clientLimit, ['rps', 'burst', 'key']);
      if (!(clientLimit.rps > 0 && clientLimit.rps < Infinity)) refuse('clientLimit.rps', 'a number above 0', clientLimit.rps);
      if (clientLimit.burst !== undefined) checkWhole('clientLimit.burst', clientLimit.burst, 1_000_000);
      if (clientLimit.key !== undefined && typeof clientLimit.key !== 'function') refuse('clientLimit.key', 'a function', clientLimit.key);
    }
    this.#tokens = [bearerToken].flat();
    const isToken = (token: unknown): boolean => typeof token === 'string' && token !== '';
    if ('bearerToken' in options && (options.bearerToken === undefined || this.#tokens.length === 0 || !this.#tokens.every(isToken))) {
      throw new WaypostError('invalid_option', 'bearerToken must be a text that is not empty, or an array of them.');
    }
    if (typeof cors !== 'boolean' && ![cors].flat().every((origin) => typeof origin === 'string')) refuse('cors', 'true, false, an origin or an array of origins', cors);
    if (typeof store === 'object') for (const method of ['load', 'save']) checkMethod('createRpcHandler', 'store', store, method);
    this.#buckets = clientLimit && new Buckets(clientLimit, () => performance.now());
    this.#cors = cors;
    this.#maxBatch = maxBatch;
    this.#maxBodyBytes = maxBodyBytes;
    this.#maxSubrequests = maxSubrequests;
    this.#idleMs = idleTimeoutMs;
    if (typeof source !== 'function') checked(source);
    this.fetch = this.fetch.bind(this);
  }

  async fetch(request: Request, env?: unknown, ctx?: ExecutionContext): Promise<Response> {
    if (this.#started === 0) this.#started = Date.now();
    if (request.method === 'OPTIONS') return preflight(this.#cors, request);
    const headers = corsHeaders(this.#cors, request);
    try {
      return await this.#answer(request, env, ctx, headers);
    } catch (error) {
      return refusal(error, headers);
    }
  }

  async #answer(request: Request, env: unknown, ctx: ExecutionContext | undefined, headers: Record<string, string>): Promise<Response> {
    const url = new URL(request.url);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    checkToken(this.#tokens, request);
    this.#buckets?.take(request);
    const client = this.#client(env);
    const internals = internalsOf(client);
    const info = readInfo(internals.core, url, this.#started, VERSION);
    if (info !== undefined) {
      if (!isRead) throw new Refusal(405, -32600, 'Method not allowed: use GET.', { allow: 'GET, HEAD, OPTIONS' });
      return json(request.method === 'HEAD' ? null : JSON.stringify(info), 200, headers);
    }
    const wish = readWish(url, request.headers);
    if (wish === undefined) throw new Refusal(404, -32600, 'Not found. Calls go to POST /rpc/:chain.');
    if (request.method !== 'POST') throw new Refusal(405, -32600, 'Method not allowed: use POST.', { allow: 'POST, OPTIONS' });
    const options = optionsOf(internals, wish);
    const { calls, isBatch } = readCalls(await readBody(request, this.#maxBodyBytes), this.#maxBatch);
    const learnt = this.#learnt(client, env);
    const later = ctx && ((promise: Promise<unknown>): void => ctx.waitUntil(promise));
    learnt?.touch(later);
    const budget = { left: this.#maxSubrequests };
    const done = await inTurn(calls, (call) => this.#perform(internals, call, wish, options, budget, request.signal));
    learnt?.touch(later);
    const parts = done.map(({ part }) => part).filter((part): part is Part => part !== undefined);
    const all = { ...headers, ...done[0]?.headers };
    if (parts.length === 0) return new Response(null, { status: 204, headers: all });
    return json(isBatch ? batchBody(parts) : (parts[0] ?? ''), 200, all);
  }

  /** One call, to its response object or to the stream of it. It never rejects. */
  async #perform(
    internals: Internals,
    call: Call,
    wish: Wish,
    options: RequestOptions,
    budget: Budget,
    signal: AbortSignal,
  ): Promise<Done> {
    const { id, fault, method } = call;
    const fail = (code: number, message: string): Done => ({ part: id === undefined ? undefined : errorPart(id, { code, message }), headers: {} });
    if (fault !== undefined) return fail(-32600, fault);
    if (REFUSED.includes(method)) return fail(-32601, `Method not supported by proxy: ${method}`);
    try {
      const { ticket, payload } = internals.open(call, options);
      const errand = new PassingErrand(ticket, payload, signal, budget);
      const passed = await run(ticket, errand, signal);
      const ending = passed.kind === 'stream' ? passed : await internals.confirm(ticket, passed, payload, options);
      const meta = wish.meta === undefined ? undefined : ticket.meta();
      const extra = wish.meta === 'body' && meta !== undefined ? `,"lasso_meta":${JSON.stringify(lassoMeta(meta))}` : '';
      const headers = wish.meta === 'headers' && meta !== undefined ? metaHeaders(meta) : {};
      internals.afterwards(ticket, ending.kind === 'stream' ? { kind: 'result', result: undefined } : ending, payload);
      if (id !== undefined) return { part: this.#part(internals, id, method, ending, extra, ticket.selected()), headers };
      // Nobody reads the answer to a notification.
      if (ending.kind === 'stream') ending.controller.abort();
      return { part: undefined, headers };
    } catch (error) {
      if (error instanceof WaypostError) return fail(error.reason === 'invalid_request' ? -32602 : -32000, error.message);
      throw error;
    }
  }

  #part({ core }: Internals, id: string, method: string, ending: PassedEnding, extra: string, provider: Provider | undefined): Part {
    switch (ending.kind) {
      case 'result':
        return resultPart(id, String(ending.result), extra);
      case 'error':
        return errorPart(id, ending.error, extra, provider);
      case 'failed': {
        const { failure } = ending;
        return errorPart(id, { code: -32000, message: failure.message, data: failure.toData() }, extra);
      }
      case 'stream': {
        const { place } = ending.provider;
        return streamedPart(id, ending, extra, this.#idleMs, (isWhole) => {
          core.engine.endBody(core.now(), place, core.method(method), isWhole);
        });
      }
      case 'aborted':
        return errorPart(id, { code: -32000, message: 'The request was aborted.' }, extra);
    }
  }

  #learnt(client: RpcClient, env: unknown): AttachedStore | undefined {
    const { store, onStoreError } = this.options;
    if (store === undefined) return undefined;
    if (this.#attached.has(client)) return this.#attached.get(client);
    let attached: AttachedStore | undefined;
    try {
      const target = typeof store === 'function' ? store(env as never) : store;
      attached = attachStore(client, target, onStoreError && { onError: onStoreError });
    } catch (error) {
      onStoreError?.(error);
    }
    this.#attached.set(client, attached);
    return attached;
  }

  #client(env: unknown): RpcClient {
    const { source } = this;
    if (typeof source !== 'function') return source;
    // Bindings are one object for an isolate; elsewhere there may be none.
    const key = typeof env === 'object' && env !== null ? env : undefined;
    const known = key === undefined ? this.#bare : this.#clients.get(key);
    if (known !== undefined) return known;
    const client = checked(source(env as never));
    if (key === undefined) this.#bare = client;
    else this.#clients.set(key, client);
    return client;
  }
}

function checkWhole(name: string, value: number, most: number): void {
  if (!(Number.isInteger(value) && value >= 1 && value <= most)) refuse(name, `an integer from 1 to ${most}`, value);
}

/** A client whose chains can all be named in a path. */
function checked(client: RpcClient): RpcClient {
  if (!(client instanceof RpcClient)) refuse('The client of createRpcHandler', 'an RpcClient, or a function that returns one', client);
  for (const pools of internalsOf(client).core.topology.profiles.values()) {
    for (const name of pools.flatMap(({ chain, aliases }) => [chain, ...aliases])) {
      if (!isReserved(name)) continue;
      throw new WaypostError('invalid_option', `A chain cannot be called "${name}" here: in paths the word has another meaning.`);
    }
  }
  return client;
}

/** The options of a call that a wish stands for, or why it cannot be had. */
function optionsOf({ resolve }: Internals, { chain, profile, strategy, provider }: Wish): RequestOptions {
  const options: RequestOptions = {
    // Without a name, the error that lists them.
    chain: chain ?? '',
    ...(profile !== undefined && { profile }),
    ...(strategy !== undefined && { strategy: strategy as StrategyWord }),
    ...(provider !== undefined && { provider }),
  };
  try {
    resolve(options);
  } catch (error) {
    if (!(error instanceof WaypostError)) throw error;
    const isProfile = error.message.startsWith('Unknown profile');
    const message = error.message.replace(/^Unknown chain/, 'Unsupported chain:');
    throw new Refusal(isProfile ? 404 : 400, -32602, message, {}, isProfile ? { error_type: 'profile_not_found' } : undefined);
  }
  return options;
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
  if (error instanceof Unlisted) return json(JSON.stringify(error.body), 404, headers);
  if (error instanceof Refusal) {
    const { status, code, message, data } = error;
    return json(errorPart('null', { code, message, ...(data && { data }) }), status, { ...headers, ...error.headers });
  }
  // Callers are strangers: what it was is for the log.
  console.error(`createRpcHandler: ${String(error)}`);
  return json(errorPart('null', { code: -32603, message: 'Internal error' }), 500, headers);
}

/**
 * Makes an HTTP endpoint of a client: `POST /rpc/:chain` and the rest of Lasso's surface, for Cloudflare Workers, Deno,
 * Bun and whatever else calls `fetch(request)`.
 *
 * @param source the client, or a function that makes one of the Worker's bindings (once for each `env`)
 * @param options who may call and how much
 * @throws WaypostError an option is wrong, or a chain has a name that paths cannot hold
 *
 * @example
 * const handler = createRpcHandler((env) => createRpcClient({ chains: { ethereum: { providers: [env.ETHEREUM_URL] } } }));
 * export default { fetch: (request, env, ctx) => handler.fetch(request, env, ctx) };
 */
export function createRpcHandler(source: ClientSource, options: RpcHandlerOptions = {}): RpcHandler {
  return new Handler(source, options);
}
