/// <reference lib="esnext.disposable" preserve="true" />
/** The RPC client. */

import { runBatch } from './batch.js';
import type { Member } from './batch.js';
import { spanOf } from './choice.js';
import { Core } from './core.js';
import { engineClass, maySharePromises, NONE, strategyWords } from './engine.js';
import type { Engine } from './engine.js';
import { abortError, RpcError, WaypostError } from './errors.js';
import { readExplanations, readStatus } from './report.js';
import { exportState, importState } from './state.js';
import { parseJson } from './json.js';
import { checkClientOptions, checkRequestOptions } from './options.js';
import { describe } from './refusal.js';
import { provideInternals } from './internals.js';
import type { RawCall } from './internals.js';
import { emptyMeta, envelope } from './response.js';
import { Reuse } from './reuse.js';
import { RpcErrand } from './rpc-errand.js';
import { run } from './run.js';
import type { Ending, Payload, Route } from './ticket.js';
import { ownResult, Ticket } from './ticket.js';
import { build, findPool, findProvider, strategyOf } from './topology.js';
import type { Topology } from './topology.js';
import type {
  ClientEvents,
  ClientStatus,
  Explanation,
  JsonRpcRequest,
  JsonRpcResponse,
  ParseMode,
  RequestOptions,
  RpcClientOptions,
  RpcRequest,
  SendResult,
} from './types.js';

/** Methods that make a filter, which then lives at one provider. */
const FILTER_MAKERS = new Set(['eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter']);
const FILTER_USERS = new Set(['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter']);

/** A name that is not one of ours, so that a listener with the wrong event does not compile. */
type OtherName<Name extends string> = Name extends keyof ClientEvents ? never : Name;

/** Most calls have none, and then there is nothing to check. */
const NO_OPTIONS: RequestOptions = {};

/** An EIP-1193 provider bound to a chain. */
export interface ChainProvider {
  request<T = unknown>(request: RpcRequest): Promise<T>;
  on(event: string, listener: (event: never) => void): void;
  removeListener(event: string, listener: (event: never) => void): void;
}

/**
 * Routes JSON-RPC requests to the best of several providers. It is an EIP-1193 provider: viem's `custom()`,
 * ethers' `BrowserProvider`, web3.js and wagmi take it as it is.
 *
 * @example
 * const rpc = createRpcClient({ providers: ['https://a.example', 'https://b.example'] })
 * const block = await rpc.request({ method: 'eth_blockNumber' })
 */
export class RpcClient {
  readonly #core: Core;
  readonly #parse: ParseMode;
  readonly #reuse: Reuse | undefined;

  /** The same as {@link createRpcClient}. */
  constructor(options: RpcClientOptions) {
    checkClientOptions(options);
    const make = (): { engine: Engine; topology: Topology } => {
      const engine = new (engineClass())(options.seed);
      return { engine, topology: build(engine, options) };
    };
    this.#core = new Core(make, options.fetch, options.now ?? (() => performance.now()));
    this.#parse = options.parse ?? 'json';
    const { singleFlight = false, cache = false } = options;
    if (singleFlight || cache !== false) {
      this.#reuse = new Reuse(singleFlight && maySharePromises(), cache === true ? {} : cache || undefined, this.#core.clock);
    }
    provideInternals(this, {
      core: this.#core,
      resolve: (wanted) => void this.#route({ method: '' }, wanted),
      open: (call, wanted) => this.#open(call, wanted),
      confirm: (ticket, ending, payload, wanted) => this.#confirm(ticket, ending, payload, wanted),
      afterwards: (ticket, ending, payload) => this.#afterwards(ticket, ending, payload),
    });
  }

  /**
   * Sends a request and resolves to its result, as EIP-1193 asks.
   *
   * @throws RpcError a provider's own error, untouched: a revert, a refused transaction, wrong parameters
   * @throws WaypostError no provider had an answer, or the request cannot be sent; `attempts` tells more
   * @throws an `AbortError` when `signal` fires
   */
  async request<T = unknown>(request: RpcRequest, options: RequestOptions = NO_OPTIONS): Promise<T> {
    this.#checkAlive();
    if (options !== NO_OPTIONS) checkRequestOptions(options);
    const payload = this.#payload(request, options.parse);
    const route = this.#route(request, options);
    const answer = this.#reuse === undefined ? this.#ask(route, payload, options) : this.#reused(this.#reuse, route, payload, options);
    return (await answer) as T;
  }

  async #ask(route: Route, payload: Payload, options: RequestOptions): Promise<unknown> {
    // Another's failure may have brought it here, and that may have been the end of the client.
    this.#checkAlive();
    const ticket = Ticket.open(this.#core, route);
    const ending = await run(ticket, new RpcErrand(ticket, payload, options.signal), options.signal);
    // Hardly any needs it, and a promise more costs all of them.
    const isOpen = ending.kind === 'error' && ending.sent !== undefined;
    return this.#settle(ticket, isOpen ? await this.#confirm(ticket, ending, payload, options) : ending, payload, options.signal);
  }

  /** Asks, or takes the answer of an equal request. Whoever names a provider wants to hear that one. */
  async #reused(reuse: Reuse, route: Route, payload: Payload, options: RequestOptions): Promise<unknown> {
    const core = this.#core;
    const { method, pool, chooser } = route;
    const isSafe = options.provider === undefined && chooser === undefined && core.mend(() => core.engine.isSafe(core.method(method)));
    if (!isSafe) return this.#ask(route, payload, options);
    const wanted = payload.body.slice(payload.body.indexOf('"method"'));
    const ask = (signal: AbortSignal | undefined): Promise<string> =>
      this.#ask(route, { ...payload, mode: 'raw' }, signal ? { ...options, signal } : options) as Promise<string>;
    const key = `${pool.place} ${options.deadlineMs ?? ''} ${wanted}`;
    const text = await reuse.call({ key, method, signal: options.signal, ask });
    return payload.mode === 'raw' ? text : parseJson(text, payload.mode);
  }

  /**
   * Sends a JSON-RPC object, or an array of them as one batch, and answers with the whole envelope and with how
   * it was routed. Errors of providers, and failures to reach any, are in `response.error`.
   *
   * The members of a batch are matched by id; only those that failed and may be repeated are sent again.
   *
   * @throws an `AbortError` when `signal` fires; a {@link WaypostError} for wrong options
   */
  send(request: JsonRpcRequest, options?: RequestOptions): Promise<SendResult<JsonRpcResponse>>;
  send(request: readonly JsonRpcRequest[], options?: RequestOptions): Promise<SendResult<JsonRpcResponse[]>>;
  async send(
    request: JsonRpcRequest | readonly JsonRpcRequest[],
    options: RequestOptions = {},
  ): Promise<SendResult<JsonRpcResponse | JsonRpcResponse[]>> {
    this.#checkAlive();
    checkRequestOptions(options);
    const requests: readonly JsonRpcRequest[] = Array.isArray(request) ? request : [request as JsonRpcRequest];
    if (requests.length === 0) throw new WaypostError('invalid_request', 'A batch must have at least one member.');
    const members = requests.map((each) => this.#member(each, options));
    const ready = members.filter((member): member is Member => 'ticket' in member);
    const [single] = ready;
    if (!Array.isArray(request) && single !== undefined) {
      const { ticket, payload } = single;
      single.ending = await run(ticket, new RpcErrand(ticket, payload, options.signal), options.signal);
    } else {
      await runBatch(this.#core, ready, options.signal);
    }
    for (const member of ready) {
      const { ticket, payload, ending } = member;
      if (ending !== undefined) member.ending = await this.#confirm(ticket, ending, payload, options);
    }
    const meta = single?.ticket.meta() ?? emptyMeta(options);
    for (const { ticket, ending } of ready) if (ending !== undefined) this.#afterwards(ticket, ending, undefined);
    if (ready.some(({ ending }) => ending?.kind === 'aborted')) throw this.#aborted(options.signal);
    const responses = members.map((member, index) => envelope(requests[index], member));
    if (!Array.isArray(request)) return { response: responses[0] as JsonRpcResponse, meta };
    // A notification has no id and gets no response.
    return { response: responses.filter((_, index) => requests[index]?.id !== undefined), meta };
  }

  /** An EIP-1193 provider that is bound to one chain (by id, alias or chain id), profile and strategy. */
  chain(chain: string | number, options: Pick<RequestOptions, 'profile' | 'strategy'> = {}): ChainProvider {
    const bound: RequestOptions = { ...options, chain };
    checkRequestOptions(bound);
    const core = this.#core;
    findPool(core.topology, options.profile, chain);
    return {
      request: (request) => this.request(request, bound),
      on: (event, listener) => core.events.on(event, listener),
      removeListener: (event, listener) => core.events.removeListener(event, listener),
    };
  }

  /**
   * Where each provider ranks for a method right now, and why, in the expected order.
   *
   * @example
   * console.table(rpc.explain({ method: 'eth_call' }), ['provider', 'rank', 'text', 'latencyMs'])
   */
  explain(query: { method: string } & Pick<RequestOptions, 'chain' | 'profile' | 'strategy'>): Explanation[] {
    this.#checkAlive();
    const { method, ...options } = query;
    checkRequestOptions(options);
    checkMethod(method);
    const core = this.#core;
    const pool = findPool(core.topology, options.profile, options.chain);
    const strategy = typeof options.strategy === 'string' ? strategyOf(options.strategy, strategyWords) : NONE;
    return core.mend(() => readExplanations(core, core.engine.explain(core.now(), pool.place, core.method(method), strategy)));
  }

  /** Breakers, limits and measurements of every provider. */
  status(): ClientStatus {
    this.#checkAlive();
    return this.#core.mend(() => readStatus(this.#core));
  }

  /** Calls `listener` at every event of that name. Names that are not ours are accepted and never fire. */
  on<Name extends keyof ClientEvents>(event: Name, listener: (event: ClientEvents[Name]) => void): this;
  on<Name extends string>(event: OtherName<Name>, listener: (event: never) => void): this;
  on(event: string, listener: (event: never) => void): this {
    this.#core.events.on(event, listener);
    return this;
  }

  /** Stops calling `listener`. */
  removeListener<Name extends keyof ClientEvents>(event: Name, listener: (event: ClientEvents[Name]) => void): this;
  removeListener<Name extends string>(event: OtherName<Name>, listener: (event: never) => void): this;
  removeListener(event: string, listener: (event: never) => void): this {
    this.#core.events.removeListener(event, listener);
    return this;
  }

  /**
   * Everything learnt, as a plain object for `JSON.stringify`: ages, no instants, no URLs.
   *
   * @param options.own leaves out what was imported, for those who keep telling each other what they see
   */
  exportState(options: { own?: boolean } = {}): object {
    this.#checkAlive();
    return this.#core.mend(() => exportState(this.#core, options.own));
  }

  /**
   * Takes over what {@link RpcClient.exportState} gave, here or elsewhere. The time since counts. Providers that
   * are not configured here are passed over.
   *
   * @param options.shared puts it beside what was seen here, in the place of what was imported before
   * @throws WaypostError the object is not such a state; nothing is changed then
   */
  importState(state: unknown, options: { shared?: boolean } = {}): void {
    this.#checkAlive();
    this.#core.mend(() => importState(this.#core, state, options.shared));
  }

  /** Aborts what is under way, forgets all listeners and refuses further requests. Calling it again is harmless. */
  dispose(): void {
    this.#core.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #checkAlive(): void {
    if (this.#core.isDisposed) {
      throw new WaypostError('unavailable', 'This client was disposed of. Create another one.');
    }
  }

  #aborted(signal: AbortSignal | undefined): Error {
    return abortError(signal?.aborted === true ? signal.reason : new Error('This client was disposed of.'));
  }

  /** Finds out where a request may go. */
  #route(request: RpcRequest, options: RequestOptions): Route {
    const core = this.#core;
    if (options.signal?.aborted === true) throw abortError(options.signal.reason);
    const { method, params } = request;
    const pool = findPool(core.topology, options.profile, options.chain);
    const owner = FILTER_USERS.has(method) && Array.isArray(params) ? core.filterOwner(pool.place, params[0]) : undefined;
    const override = options.provider === undefined ? undefined : findProvider(pool, options.provider).place;
    const isPreferred = override !== undefined && (options.failoverOnOverride ?? pool.failoverOnOverride);
    const only = isPreferred ? NONE : (override ?? owner ?? NONE);
    const first = isPreferred ? override : NONE;
    const wanted = options.strategy ?? pool.strategy;
    const chooser = typeof wanted === 'object' && override === undefined && only === NONE ? wanted : undefined;
    const strategy = typeof wanted === 'string' ? strategyOf(wanted, strategyWords) : NONE;
    const blockSpan = method === 'eth_getLogs' ? spanOf(params) : -1;
    return { pool, method, strategy, only, first, deadlineMs: options.deadlineMs, blockSpan, chooser };
  }

  /**
   * A transaction whose nonce is used after an attempt of ours that got no answer: it is a success if the chain
   * has it.
   */
  async #confirm(ticket: Ticket, ending: Ending, payload: Payload, options: RequestOptions): Promise<Ending> {
    if (ending.kind !== 'error' || ending.sent === undefined) return ending;
    const { chain, profile } = ticket.route.pool;
    const { signal, deadlineMs } = options;
    const limits = { ...(signal && { signal }), ...(deadlineMs !== undefined && { deadlineMs }) };
    const question = { method: 'eth_getTransactionByHash', params: [ending.sent] };
    try {
      const found = await this.request(question, { ...limits, chain, profile, parse: 'json' });
      return found === null ? ending : { kind: 'result', result: ownResult(ending.sent, payload) };
    } catch {
      // Nobody could say: the provider's error is the best there is.
      return signal?.aborted === true ? { kind: 'aborted' } : ending;
    }
  }

  #open({ method, params, rawParams }: RawCall, options: RequestOptions): { ticket: Ticket; payload: Payload } {
    this.#checkAlive();
    const id = this.#core.nextId();
    const body = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${rawParams ?? '[]'}}`;
    return { ticket: Ticket.open(this.#core, this.#route({ method, params: params as object }, options)), payload: { id, body, params, mode: 'raw' } };
  }

  #payload(request: RpcRequest, mode: ParseMode | undefined): Payload {
    const { method, params = [] } = request ?? {};
    checkMethod(method);
    if (typeof params !== 'object' || params === null) {
      throw new WaypostError('invalid_request', `params of ${method} must be an array or an object, but is ${describe(params)}.`);
    }
    const id = this.#core.nextId();
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      return { id, body, params, mode: mode ?? this.#parse };
    } catch (error) {
      throw new WaypostError(
        'invalid_request',
        `The params of ${method} cannot be written as JSON. A bigint must be sent as a 0x string, and nothing may contain itself.`,
        { cause: error },
      );
    }
  }

  /** A member ready to go, or the error that it is. */
  #member(request: JsonRpcRequest, options: RequestOptions): Member | { error: WaypostError } {
    try {
      const payload = this.#payload(request, options.parse);
      const route = this.#route(request, options);
      return { ticket: Ticket.open(this.#core, route), payload, attempt: 0, result: undefined, ending: undefined };
    } catch (error) {
      if (error instanceof WaypostError) return { error };
      throw error;
    }
  }

  #settle(ticket: Ticket, ending: Ending, payload: Payload, signal: AbortSignal | undefined): unknown {
    const error = ending.kind === 'error' ? new RpcError(ending.error, ticket.records(), ticket.meta()) : undefined;
    this.#afterwards(ticket, ending, payload);
    if (ending.kind === 'result') return ending.result;
    if (ending.kind === 'failed') throw ending.failure;
    throw error ?? this.#aborted(signal);
  }

  /** Learns what only the shell can see in an answer, and lets the request go. */
  #afterwards(ticket: Ticket, ending: Ending, payload: Payload | undefined): void {
    const core = this.#core;
    if (ending.kind === 'result') {
      const { method, pool } = ticket.route;
      const provider = ticket.selected();
      const result = payload?.mode === 'raw' && typeof ending.result === 'string' ? unquoted(ending.result) : ending.result;
      if (provider !== undefined && typeof result === 'string') {
        if (method === 'eth_blockNumber') core.tell((engine) => engine.noteHead(provider.place, Number(result)));
        else if (FILTER_MAKERS.has(method)) core.rememberFilter(pool.place, result, provider.place);
      }
    }
    ticket.close(ending);
  }
}

/**
 * Creates a client. Nothing is sent, timed or drawn before the first request, so it may be created at the top
 * level of a Worker.
 *
 * @throws WaypostError an option is wrong; the message has its path, what was seen and what is allowed
 *
 * @example
 * import { createRpcClient } from 'waypost'
 * const rpc = createRpcClient({
 *   providers: ['https://a.example', { id: 'b', url: 'https://b.example', rateLimit: { rps: 10 } }],
 *   strategy: 'latency_weighted',
 * })
 */
export function createRpcClient(options: RpcClientOptions): RpcClient {
  return new RpcClient(options);
}

function checkMethod(method: unknown): void {
  if (typeof method !== 'string' || method === '') {
    throw new WaypostError('invalid_request', `method must be a string that is not empty, but is ${describe(method)}.`);
  }
}

function unquoted(raw: string): string {
  return raw.startsWith('"') ? raw.slice(1, -1) : raw;
}
