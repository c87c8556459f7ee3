/**
 * The engine as the shell sees it: the wasm class, its numbers, and the slot that the entries fill.
 *
 * This file is the only one that knows how integers map to words.
 */

import { WaypostError } from './errors.js';
import type { AttemptClass, CircuitState, StrategyName } from './types.js';

/** "None" among the engine's numbers. */
export const NONE = 0xffff_ffff;

/** What {@link Engine.next} answers. */
export const enum Step {
  Send = 0,
  Wait = 1,
  Pending = 2,
  Answer = 3,
  Error = 4,
  AlreadyKnown = 5,
  Indeterminate = 6,
  Exhausted = 7,
  Deadline = 8,
  RateLimited = 9,
  Aborted = 10,
  Unconfirmed = 11,
}

/** What {@link Engine.detail} takes; times are in milliseconds, and negative where there is none. */
export const enum Detail { Attempt, Endpoint, Timeout, Backup, Wait }

/** What {@link Engine.lose} takes. */
export const enum Loss { BadBody, Silence, Refused, Offline, Timeout, Abandoned }

/** What {@link Engine.succeed} takes. A doubtful result is the answer only if no attempt under way has a better one. */
export const enum Success { Result, Declined, Doubtful }

const CLASSES: readonly AttemptClass[] = [
  'revert',
  'caller',
  'rate_limit',
  'capability',
  'block_missing',
  'server',
  'network',
  'timeout',
  'auth',
  'abort',
  'unknown',
];

/** The word for a class number. */
export function className(number: number): AttemptClass {
  return CLASSES[number] ?? 'unknown';
}

/** The number of a class. */
export function classNumber(word: AttemptClass): number {
  return CLASSES.indexOf(word);
}

/** Every class that an error rule may name. */
export const classNames: readonly AttemptClass[] = CLASSES;

const STRATEGIES: readonly StrategyName[] = ['load_balanced', 'fastest', 'latency_weighted', 'priority', 'adaptive'];

/** The words that a strategy may be written as. */
export const strategyWords: readonly string[] = [...STRATEGIES, 'round_robin'];

/** The number of a strategy's word; hyphen and underscore are alike. */
export function strategyNumber(word: string): number | undefined {
  const name = word.replaceAll('-', '_');
  const number = STRATEGIES.indexOf((name === 'round_robin' ? 'load_balanced' : name) as StrategyName);
  return number < 0 ? undefined : number;
}

/** The word for a strategy number. */
export function strategyName(number: number): StrategyName {
  return STRATEGIES[number] ?? 'load_balanced';
}

const CIRCUITS: readonly CircuitState[] = ['closed', 'half-open', 'open'];

/** The word for a circuit number. */
export function circuitName(number: number): CircuitState {
  return CIRCUITS[number] ?? 'closed';
}

/** The exported wasm class; see `src/js/engine.rs`. NaN and an empty text are "none". */
export interface Engine {
  addProfile(strategy: number, unlimitedFirst: boolean): number;
  /** The range that the value is out of; empty if it is within. */
  setProfile(profile: number, path: string, value: number): Float64Array;
  /** Without any, all methods that may be repeated are hedged. */
  hedgeMethod(profile: number, method: string): void;
  addPool(profile: number): number;
  addEndpoint(pool: number, group: string): number;
  /** As {@link Engine.setProfile}. */
  setEndpoint(endpoint: number, path: string, value: number): Float64Array;
  refuse(endpoint: number, method: string): void;
  addRule(endpoint: number, code: number, status: number, texts: string, errorClass: number): void;
  method(name: string): number;
  /** Whether it may be repeated. */
  isSafe(method: number): boolean;
  begin(
    now: number,
    pool: number,
    method: number,
    strategy: number,
    only: number,
    first: number,
    deadlineMs: number,
    blockSpan: number,
  ): number;
  next(now: number, handle: number): number;
  backup(now: number, handle: number): number;
  ride(now: number, handle: number, endpoint: number): number;
  /** Of the last step. */
  detail(which: number): number;
  succeed(now: number, handle: number, attempt: number, how: Success): void;
  fail(
    now: number,
    handle: number,
    attempt: number,
    status: number,
    code: number,
    message: string,
    data: string,
    retryAfter: string,
    date: string,
    wallNow: number,
  ): number;
  lose(now: number, handle: number, attempt: number, how: number): number;
  abort(now: number, handle: number): void;
  isTrial(handle: number, attempt: number): boolean;
  release(handle: number): void;
  addContentPool(profile: number): number;
  addGateway(pool: number): number;
  /** False while attempts are under way. */
  forgetGateway(place: number): boolean;
  offer(now: number, handle: number, places: Uint32Array): void;
  prefer(now: number, handle: number, place: number): void;
  pick(now: number, pool: number, method: number, strategy: number, places: Uint32Array): number;
  /** From 1, the best, to 5, an open breaker. */
  tiers(now: number, places: Uint32Array): Uint8Array;
  /** Whether it is in the best tier and its last answer was good. */
  isTrusted(now: number, place: number): boolean;
  endBody(now: number, place: number, method: number, isWhole: boolean): void;
  /** Negative milliseconds stand for a failure. */
  note(now: number, place: number, method: number, ms: number, isProbe: boolean): void;
  readonly openRequests: number;
  strategyOf(handle: number): number;
  requestId(): string;
  noteHead(endpoint: number, head: number): void;
  /** Tables of numbers; `report.ts` and `state.ts` know their columns. */
  explain(now: number, pool: number, method: number, strategy: number): Float64Array;
  status(now: number, endpoint: number): Float64Array;
  methodName(method: number): string;
  exportState(now: number, endpoint: number, isOwn: boolean): Float64Array;
  importState(now: number, endpoint: number, numbers: Float64Array, elapsedMs: number, isShared: boolean): void;
  pollNews(): Float64Array;
  free(): void;
}

export interface EngineClass {
  new (seed?: number): Engine;
  transactionHash(raw: string): Uint8Array;
}

let instantiate: (() => EngineClass) | undefined;
let current: EngineClass | undefined;
let mayShare = true;

/**
 * Called once by the entry that has the wasm module. Every call of `make` makes an instance of it.
 *
 * @param isIsolated whether requests must not wait for each other's promises, as in Workers
 */
export function provideEngine(make: () => EngineClass, isIsolated = false): void {
  instantiate = make;
  mayShare = !isIsolated;
}

/** Whether one request may wait for what another one has started. */
export const maySharePromises = (): boolean => mayShare;

/**
 * Engines made from now on live in another instance: one that has panicked has lost a part of its stack. Others that
 * live there stay until they break as well.
 */
export function retireEngine(broken: Engine): void {
  if (current !== undefined && broken instanceof current) current = undefined;
}

/** The class, or one sentence that says how to load it. */
export function engineClass(): EngineClass {
  if (instantiate === undefined) {
    throw new WaypostError(
      'unavailable',
      "The WebAssembly module is not loaded. Call `await init()` from 'waypost/web' first, or import from 'waypost', which loads itself.",
    );
  }
  try {
    return (current ??= instantiate());
  } catch (cause) {
    throw new WaypostError(
      'unavailable',
      `The WebAssembly module cannot be compiled here. In a page with a Content-Security-Policy, script-src must have 'wasm-unsafe-eval'; a Worker must be bundled with the condition "workerd". (${String(cause)})`,
      { cause },
    );
  }
}
