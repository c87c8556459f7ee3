/** One request as the engine knows it: its handle, and a record of every attempt. */

import type { Core } from './core.js';
import type { Engine } from './engine.js';
import { circuitName, className, Detail, engineClass, NONE, Step, strategyName, Success } from './engine.js';
import { WaypostError } from './errors.js';
import { readCandidates } from './report.js';
import type { RpcErrorObject } from './reply.js';
import { dataText, redact } from './reply.js';
import type { Stamps } from './transport.js';
import type { Pool, Provider } from './topology.js';
import type { AttemptClass, AttemptRecord, ParseMode, RoutingMeta, RoutingStrategy } from './types.js';

/** What a call asks of the engine. */
export interface Route {
  pool: Pool;
  method: string;
  /** Number of a strategy, or {@link NONE}. */
  strategy: number;
  /** The only provider that may answer, or {@link NONE}. */
  only: number;
  /** The provider to ask first, or {@link NONE}. */
  first: number;
  deadlineMs: number | undefined;
  blockSpan: number;
  /** The strategy object that chose the first provider, if one did. */
  chooser: RoutingStrategy | undefined;
}

/** What is sent, and how its answer is read. */
export interface Payload {
  id: number;
  body: string;
  params: unknown;
  mode: ParseMode;
}

interface Attempt {
  provider: Provider;
  started: number;
  record?: AttemptRecord;
  error?: RpcErrorObject;
}

/** Why a request got no answer. */
export type FailureReason = 'indeterminate' | 'exhausted' | 'deadline' | 'rate_limited';

/** How a request ended. */
export type Ending =
  | { kind: 'result'; result: unknown }
  /** `sent` is the hash of a transaction that may be mined in spite of the error. */
  | { kind: 'error'; error: RpcErrorObject; sent?: string | undefined }
  | { kind: 'failed'; failure: WaypostError }
  | { kind: 'aborted' };

export class Ticket {
  readonly started: number;
  readonly handle: number;
  /** The one that knows the handle. */
  readonly engine: Engine;
  readonly #attempts: Attempt[] = [];
  /** The attempt that the engine took the answer from. */
  #answeredBy: number | undefined;
  #isClosed = false;

  constructor(
    readonly core: Core,
    readonly route: Route,
  ) {
    const { pool, method, strategy, only, first, deadlineMs, blockSpan } = route;
    this.started = core.now();
    this.engine = core.engine;
    const number = core.method(method);
    this.handle = this.engine.begin(this.started, pool.place, number, strategy, only, first, deadlineMs ?? 0, blockSpan);
    if (this.handle === NONE) {
      throw new WaypostError('unavailable', 'Too many requests are under way; wait for some to end.');
    }
    core.enter();
  }

  /** Opens a request. Nothing has been sent yet, so it does not matter if the engine has to be replaced. */
  static open(core: Core, route: Route): Ticket {
    return core.mend(() => new Ticket(core, route));
  }

  /** Asks the engine what to do; {@link Engine.detail} tells more. */
  next(): number {
    return this.engine.next(this.core.now(), this.handle);
  }

  /** Notes an attempt that the engine has opened. */
  open(attempt: number, provider: Provider): void {
    this.#attempts[attempt] = { provider, started: this.core.now() };
  }

  succeed(attempt: number, how: Success): void {
    const { core, handle } = this;
    this.engine.succeed(core.now(), handle, attempt, how);
    this.#record(attempt);
  }

  /** A JSON-RPC error, or an HTTP error without one whose body is `text`. */
  fail(attempt: number, reply: Stamps & { status: number }, error: RpcErrorObject | undefined, text: string): void {
    const { core, handle } = this;
    const number = this.engine.fail(
      core.now(),
      handle,
      attempt,
      reply.status,
      error?.code ?? NaN,
      error?.message ?? '',
      error === undefined ? text : dataText(error.data),
      reply.retryAfter ?? '',
      reply.date ?? '',
      Date.now(),
    );
    const known = this.#attempts[attempt];
    if (known !== undefined && error !== undefined) known.error = error;
    this.#record(attempt, className(number));
  }

  lose(attempt: number, how: number): void {
    const { core, handle } = this;
    this.#record(attempt, className(this.engine.lose(core.now(), handle, attempt, how)));
  }

  /** The caller's signal. */
  abort(): void {
    this.engine.abort(this.core.now(), this.handle);
    this.#attempts.forEach((known, attempt) => {
      if (known.record === undefined) this.#record(attempt, 'abort');
    });
  }

  /** All attempts that have ended. */
  records(): AttemptRecord[] {
    return this.#attempts.flatMap((known) => known.record ?? []);
  }

  /** Without a class it was a success. */
  #record(attempt: number, word?: AttemptClass): void {
    const known = this.#attempts[attempt];
    if (known === undefined || known.record !== undefined) return;
    const { core, route } = this;
    const ms = Math.max(0, Math.round(core.now() - known.started));
    const base = { provider: known.provider.id, ms };
    const failed = word === 'abort' ? 'abandoned' : 'error';
    const record: AttemptRecord = word === undefined ? { ...base, outcome: 'success' } : { ...base, outcome: failed, class: word };
    known.record = record;
    if (core.events.has('attempt')) {
      const { profile, chain } = route.pool;
      core.events.emit('attempt', { ...record, profile, chain, method: route.method });
    }
    core.tellNews();
  }

  /** Reads how the engine ended the request, from the number that {@link Ticket.next} gave. */
  ending(step: number, payload: Payload, resultOf: (attempt: number) => unknown): Ending {
    const { engine } = this;
    const attempt = engine.detail(Detail.Attempt);
    const waitMs = engine.detail(Detail.Wait);
    const retryAfterMs = waitMs < 0 ? undefined : waitMs;
    switch (step) {
      case Step.Answer:
        this.#answeredBy = attempt;
        return { kind: 'result', result: resultOf(attempt) };
      case Step.Error:
        return { kind: 'error', error: this.#shownError(attempt) };
      case Step.Unconfirmed:
        return { kind: 'error', error: this.#shownError(attempt), sent: transactionHash(payload) };
      case Step.AlreadyKnown:
        return { kind: 'result', result: ownResult(transactionHash(payload), payload) };
      case Step.Indeterminate:
        return { kind: 'failed', failure: this.failure('indeterminate', undefined) };
      case Step.Exhausted:
        return { kind: 'failed', failure: this.failure('exhausted', retryAfterMs) };
      case Step.Deadline:
        return { kind: 'failed', failure: this.failure('deadline', retryAfterMs) };
      case Step.RateLimited:
        return { kind: 'failed', failure: this.failure('rate_limited', retryAfterMs) };
      default:
        return { kind: 'aborted' };
    }
  }

  /** A provider's error, untouched unless it repeats our own key. */
  #shownError(attempt: number): RpcErrorObject {
    const known = this.#attempts[attempt];
    if (known?.error === undefined) return { code: -32603, message: 'The provider sent an error without JSON-RPC.' };
    return { ...known.error, message: redact(known.error.message, known.provider) };
  }

  /** The error of a request that got no answer. */
  failure(reason: FailureReason, retryAfterMs: number | undefined, cause?: unknown): WaypostError {
    const { method, pool } = this.route;
    const attempts = this.records();
    const tried = attempts.map(({ provider, class: word, ms }) => `${provider}: ${word} after ${ms} ms`).join('; ');
    const hint = retryAfterMs === undefined ? '' : ` Try again in ${Math.ceil(retryAfterMs)} ms.`;
    const where = `${method} on ${pool.chain}`;
    const { noun } = pool;
    const list = tried === '' ? `no ${noun} could be asked` : tried;
    const message = {
      indeterminate: `${where}: no answer came, so it is not known whether it was executed (${list}). Check its effect before you send it again.`,
      exhausted: `${where}: no ${noun} answered (${list}).${hint}`,
      deadline: `${where}: the deadline passed without an answer (${list}).${hint}`,
      rate_limited: `${where}: all ${noun}s are rate-limited (${list}).${hint}`,
    }[reason];
    return new WaypostError(reason, message, { attempts, retryAfterMs, meta: this.meta(), cause });
  }

  /** The provider whose answer ended the request. */
  selected(): Provider | undefined {
    const answered = this.#attempts[this.#answeredBy ?? -1] ?? this.#attempts.find((known) => known.record?.outcome === 'success');
    return (answered ?? this.#attempts.at(-1))?.provider;
  }

  /** Its number; none once the engine has been replaced. */
  #strategyNumber(): number {
    return this.engine === this.core.engine ? this.engine.strategyOf(this.handle) : NONE;
  }

  #strategy(): string {
    const { chooser } = this.route;
    return chooser === undefined ? strategyName(this.#strategyNumber()) : (chooser.name ?? 'custom');
  }

  meta(): RoutingMeta {
    return this.core.mend(() => this.#meta());
  }

  #meta(): RoutingMeta {
    const { core, route } = this;
    const { engine } = core;
    const now = core.now();
    const attempts = this.records();
    const selected = this.selected();
    const circuit = selected && circuitName(engine.status(now, selected.place)[0] ?? 0);
    return {
      request_id: engine.requestId(),
      strategy: this.#strategy(),
      chain: route.pool.chain,
      profile: route.pool.profile,
      transport: 'http',
      ...(selected && { selected_provider: { id: selected.id } }),
      upstream_latency_ms: attempts.reduce((sum, attempt) => sum + attempt.ms, 0),
      end_to_end_latency_ms: Math.max(0, Math.round(now - this.started)),
      retries: Math.max(0, attempts.length - 1),
      ...(circuit && { circuit_breaker_state: circuit }),
      candidate_providers: readCandidates(core, engine.explain(now, route.pool.place, core.method(route.method), this.#strategyNumber())),
      attempts,
    };
  }

  /** Lets a request go that something has broken, and says what its caller is to be told. */
  discard(error: unknown): unknown {
    const { core, engine, handle } = this;
    const isPanic = core.revive(error, engine);
    if (!isPanic && !this.#isClosed) {
      engine.abort(core.now(), handle);
      engine.release(handle);
    }
    this.#leave();
    return isPanic ? this.#broken(error) : error;
  }

  #broken(cause: unknown): WaypostError {
    const { method, pool } = this.route;
    const [reason, fate] =
      this.#attempts.length === 0
        ? (['unavailable', 'Nothing was sent: try again.'] as const)
        : (['indeterminate', 'It is not known whether it was executed: check its effect before you send it again.'] as const);
    const message = `${method} on ${pool.chain}: the routing engine broke and was replaced (${String(cause)}). ${fate} Please report this.`;
    return new WaypostError(reason, message, { attempts: this.records(), cause });
  }

  /** Tells listeners how the request ended, and lets it go. */
  close(ending: Ending): void {
    const { core, route } = this;
    if (core.events.has('request')) {
      const { kind } = ending;
      const provider = this.selected()?.id ?? '';
      core.events.emit('request', {
        profile: route.pool.profile,
        chain: route.pool.chain,
        method: route.method,
        ...(kind === 'result' || kind === 'error' ? { outcome: kind === 'result' ? 'success' : kind, provider } : { outcome: kind }),
        strategy: core.mend(() => this.#strategy()),
        attempts: this.records(),
        ms: Math.max(0, Math.round(core.now() - this.started)),
      });
    }
    try {
      this.engine.release(this.handle);
    } catch (error) {
      // The request has ended, and its answer is good.
      if (!core.revive(error, this.engine)) throw error;
    }
    this.#leave();
  }

  #leave(): void {
    if (!this.#isClosed) this.core.leave();
    this.#isClosed = true;
  }
}

/** What a provider answers to a raw transaction that it has not seen before. */
function transactionHash({ params }: Payload): string | undefined {
  const raw: unknown = Array.isArray(params) ? params[0] : undefined;
  const digits = Array.from(engineClass().transactionHash(String(raw)), (byte) => byte.toString(16).padStart(2, '0'));
  return digits.length === 0 ? undefined : `0x${digits.join('')}`;
}

/** A result of our own in the form that the caller asked for. */
export function ownResult(result: unknown, { mode }: Payload): unknown {
  return mode === 'raw' ? JSON.stringify(result) : result;
}
