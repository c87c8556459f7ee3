/** One value that is loaded when it is needed, kept for a while, and served old rather than not at all. */

import { limited } from './bounded.js';

/** A quick refresh is worth waiting for; a slow one goes on in the background while the old value is served. */
const PATIENCE_MS = 50;
/** A source that fails is left alone for this long while there is an old value. */
const RETRY_MS = 5_000;
/** A load may never settle: Cloudflare Workers drop it together with the request that began it. */
const SHARED_MS = 5_000;

type Outcome<T> = { value: T; isGood: boolean } | { error: unknown };

interface Flight<T> {
  started: number;
  /** Never rejects, so that a refresh nobody waits for can fail. */
  outcome: Promise<Outcome<T>>;
}

/**
 * A cache of one value: callers share a load, and a failed one never costs them the old value.
 *
 * @example
 * const gateways = new Cached<URL[]>(3_600_000, (list) => list.length > 0);
 * const list = await gateways.get(() => provider.getGateways());
 */
export class Cached<T> {
  readonly #ttlOf: (value: T) => number;
  readonly #isGood: (value: T) => boolean;
  readonly #onKept: (value: T) => void;
  #entry: { value: T; until: number } | undefined;
  #flight: Flight<T> | undefined;

  /**
   * @param ttlMs how long a value is fresh, from the end of its load; 0 keeps nothing, but callers still share. May
   *   depend on the value
   * @param isGood whether a loaded value may replace the old one
   * @param onKept told of every loaded value that is kept; must not throw
   */
  constructor(
    ttlMs: number | ((value: T) => number),
    isGood: (value: T) => boolean = () => true,
    onKept: (value: T) => void = () => {},
  ) {
    this.#ttlOf = typeof ttlMs === 'number' ? () => ttlMs : ttlMs;
    this.#isGood = isGood;
    this.#onKept = onKept;
  }

  /**
   * The fresh value, or what `load` brings. An old value is served when the load is slow, fails, or brings a value
   * that is not good; without one, the load's error is thrown or its value returned as it is.
   *
   * @param isUsable whether the caller can use a value: others are never served from the cache
   */
  async get(load: () => Promise<T>, isUsable: (value: T) => boolean = () => true): Promise<T> {
    const entry = this.#entry;
    const old = entry !== undefined && isUsable(entry.value) ? entry : undefined;
    if (old !== undefined && performance.now() < old.until) return old.value;
    for (;;) {
      const shared = this.#joinable();
      const { started, outcome } = shared ?? this.#start(load);
      const most = old !== undefined ? PATIENCE_MS : shared !== undefined ? SHARED_MS : Infinity;
      const leftMs = started + most - performance.now();
      const landed = leftMs > 0 ? await limited(outcome, leftMs, undefined).catch(() => undefined) : undefined;
      if (landed !== undefined && 'value' in landed && landed.isGood && isUsable(landed.value)) return landed.value;
      if (old !== undefined) return old.value;
      if (landed === undefined) continue;
      if ('error' in landed) throw landed.error;
      return shared !== undefined && landed.isGood ? load() : landed.value;
    }
  }

  /** The value that is kept, fresh or old. */
  peek(): T | undefined {
    return this.#entry?.value;
  }

  /** Keeps a value that was not loaded here, fresh for `freshMs`. */
  put(value: T, freshMs: number = this.#ttlOf(value)): void {
    if (this.#ttlOf(value) > 0) this.#entry = { value, until: performance.now() + freshMs };
  }

  /** Forgets the value. A load that is under way still serves those who wait for it, but is not kept. */
  clear(): void {
    this.#entry = undefined;
    this.#flight = undefined;
  }

  #joinable(): Flight<T> | undefined {
    const flight = this.#flight;
    return flight !== undefined && performance.now() - flight.started < SHARED_MS ? flight : undefined;
  }

  #start(load: () => Promise<T>): Flight<T> {
    const flight = { started: performance.now(), outcome: this.#outcomeOf(load) };
    this.#flight = flight;
    void flight.outcome.then((outcome) => this.#land(flight, outcome));
    return flight;
  }

  async #outcomeOf(load: () => Promise<T>): Promise<Outcome<T>> {
    try {
      const value = await load();
      return { value, isGood: this.#isGood(value) };
    } catch (error) {
      return { error };
    }
  }

  #land(flight: Flight<T>, outcome: Outcome<T>): void {
    if (this.#flight !== flight) return;
    this.#flight = undefined;
    if ('value' in outcome && outcome.isGood) {
      this.put(outcome.value);
      if (this.#entry !== undefined) this.#onKept(outcome.value);
    } else if (this.#entry !== undefined) {
      const { until, value } = this.#entry;
      this.#entry.until = Math.max(until, performance.now() + Math.min(this.#ttlOf(value), RETRY_MS));
    }
  }
}
