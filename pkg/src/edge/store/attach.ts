/** Keeps a client and a store in touch while requests happen. No request ever waits for it. */

import { anything, atLeast, check } from '../../checks.js';
import type { Test } from '../../checks.js';
import type { SavedState } from '../../state.js';
import { merge } from './merge.js';
import type { StatefulClient, StateStore } from './types.js';

/** A breaker or limit that has changed is told no later than this after the last exchange. */
const URGENT_MS = 1_000;
/** A store that fails or hangs is asked again after twice the time, up to this. */
const MOST_WAIT_MS = 60_000;

/** Whether something can be a store. */
export const storing: Test = (value) =>
  !['load', 'save'].every((method) => typeof Object(value)[method] === 'function') && 'an object with load() and save()';

type WaitUntil = (promise: Promise<unknown>) => void;

/** Options of {@link attachStore}. */
export interface AttachOptions {
  /** Least time between two exchanges in milliseconds, from 1. Default: what suits the store, or 5000. */
  intervalMs?: number;
  /** Told of work that goes on after the request in which it began. */
  waitUntil?: WaitUntil;
  /** Told what is wrong with the store. */
  onError?: (error: unknown) => void;
}

/** A client and a store that keep in touch. */
export interface AttachedStore {
  /**
   * Exchanges what was learnt if it is time to; returns at once and never throws. In Workers, call it in every request,
   * best before and after the work, with the request's own `waitUntil`: from then on nothing is done without such a
   * call. Elsewhere the end of a request does it by itself.
   */
  touch(waitUntil?: WaitUntil): void;
  /** Ends it; what is under way is dropped. Calling it again is harmless. */
  detach(): void;
}

/**
 * Makes a client learn from others, and others from it: what it sees itself is saved, and what others saw is imported, at
 * most every `intervalMs` while requests happen, and a change of a breaker or a limit within a second. The first exchange
 * starts with the first request, or at once with a store of tabs. There are no timers, nothing runs before that, and no
 * request waits: a store that is slow, broken or full of nonsense only means that nothing is shared.
 *
 * @throws WaypostError an option is not known, or the store has no `load()` or `save()`
 * @throws RangeError if `intervalMs` is out of its range
 *
 * @example
 * const learnt = attachStore(rpc, durableObjectStore(env.STATE), { onError: console.warn })
 * learnt.touch((promise) => ctx.waitUntil(promise))   // Workers: in every request
 * learnt.detach()
 */
export function attachStore(client: StatefulClient, store: StateStore, options: AttachOptions = {}): AttachedStore {
  const name = 'attachStore';
  check(name, options, { intervalMs: anything, waitUntil: anything, onError: anything });
  check(name, store, storing, 'store');
  const { intervalMs = store.intervalMs ?? 5_000, onError } = options;
  check(name, intervalMs, atLeast(1), 'intervalMs');

  let source: string | undefined;
  let startedAt = -Infinity;
  let round = 0;
  /** Exchanges since the last that came to an end, which includes one under way. */
  let unfinished = 0;
  let isUrgent = false;
  let isDriven = false;
  let isDetached = false;

  const report = (error: unknown): void => {
    try {
      onError?.(error);
    } catch {
      // Nobody is left to be told.
    }
  };

  const learn = (others: unknown): void => {
    if (!isDetached && others !== undefined && others !== null) client.importState(others, { shared: true });
  };

  const exchange = async (number: number): Promise<void> => {
    const own: SavedState = merge([client.exportState({ own: true })]);
    source ??= randomId();
    const answer = own.providers.length > 0 ? await store.save(own, source) : undefined;
    const others = answer ?? (await store.load(source));
    // A later exchange has been started since: what this one brings is old.
    if (number !== round) return;
    learn(others);
    unfinished = 0;
  };

  /** The only clock here is read in a request: a promise of one that was cut off may never settle. */
  const turn = (waitUntil: WaitUntil | undefined): void => {
    const now = performance.now();
    const backOffMs = Math.min(intervalMs * 2 ** unfinished, Math.max(MOST_WAIT_MS, intervalMs));
    const waitMs = isUrgent && unfinished === 0 ? Math.min(URGENT_MS, intervalMs) : backOffMs;
    if (isDetached || now - startedAt < waitMs) return;
    startedAt = now;
    unfinished += 1;
    isUrgent = false;
    round += 1;
    const work = exchange(round).catch(report);
    try {
      waitUntil?.(work);
    } catch (error) {
      report(error);
    }
  };

  const onRequest = (): void => {
    if (!isDriven) turn(options.waitUntil);
  };
  const onChange = (): void => {
    isUrgent = true;
  };
  const listeners = { request: onRequest, circuit: onChange, ratelimit: onChange };
  for (const [event, listener] of Object.entries(listeners)) client.on(event, listener);

  const load = async (): Promise<void> => learn(await store.load(source));
  const hear = (): void => void load().catch(report);
  let stop: (() => void) | undefined;
  if (store.subscribe !== undefined) {
    try {
      stop = store.subscribe(hear);
    } catch (error) {
      report(error);
    }
    hear();
  }

  return {
    touch(waitUntil) {
      isDriven ||= waitUntil !== undefined;
      turn(waitUntil ?? options.waitUntil);
    },
    detach() {
      if (isDetached) return;
      isDetached = true;
      stop?.();
      for (const [event, listener] of Object.entries(listeners)) client.removeListener(event, listener);
    },
  };
}

const randomId = (): string => Array.from({ length: 2 }, () => Math.random().toString(36).slice(2)).join('');
