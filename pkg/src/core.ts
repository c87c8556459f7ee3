/** What all requests of one client share. */

import { circuitName, retireEngine } from './engine.js';
import type { Engine } from './engine.js';
import { Emitter } from './events.js';
import { Keepsake } from './keepsake.js';
import type { Pool, Provider, Topology } from './topology.js';
import type { ClientEvents } from './types.js';

/** Method names remembered on this side; the engine has a bound of its own. */
const METHOD_CACHE = 256;
/** Names come from strangers, and are remembered. */
const LONGEST_METHOD = 128;
/** Filters remembered per client; providers forget theirs after minutes. */
const FILTER_CACHE = 1000;
/** The engine's tier of an open breaker. */
const OPEN_TIER = 5;

type FetchFunction = typeof fetch;

export class Core<T extends Topology = Topology> {
  readonly events = new Emitter<ClientEvents>();
  /** Which provider made a filter: `pool:filter id`. */
  readonly #filters = new Map<string, number>();
  readonly #methods = new Map<string, number>();
  /** How to stop each request that is under way. */
  readonly #stops = new Set<() => void>();
  #keepsake = new Keepsake();
  #nextId = 1;
  #lag = 0;
  #openTickets = 0;
  #isDisposed = false;

  engine: Engine;
  topology: T;

  constructor(
    readonly make: () => { engine: Engine; topology: T },
    readonly ownFetch: FetchFunction | undefined,
    readonly clock: () => number,
  ) {
    ({ engine: this.engine, topology: this.topology } = make());
  }

  /**
   * Replaces an engine that has panicked, since it stays borrowed for ever, by one that knows what was last kept of
   * it. Requests under way keep the broken one and are rejected. False if the error was none of the engine's.
   */
  revive(error: unknown, broken: Engine): boolean {
    if (!isPanic(error)) return false;
    if (broken === this.engine) {
      retireEngine(broken);
      const methods = [...this.#methods.keys()];
      const { topology } = this;
      this.#restart();
      try {
        for (const name of methods) this.method(name);
        this.repopulate(topology);
        this.#keepsake.restore(this);
      } catch {
        // It may be what broke the engine.
        this.#keepsake = new Keepsake();
        this.#restart();
      }
    }
    return true;
  }

  #restart(): void {
    ({ engine: this.engine, topology: this.topology } = this.make());
    this.#methods.clear();
  }

  /** Adds what {@link Core.make} does not know. */
  protected repopulate(_before: T): void {}

  /** Asks the engine for something that has no effect outside of it; if it breaks, once more with a new one. */
  mend<R>(work: () => R): R {
    const { engine } = this;
    try {
      return work();
    } catch (error) {
      if (!this.revive(error, engine)) throw error;
      return work();
    }
  }

  /** A request begins. */
  enter(): void {
    this.#keepsake.update(this);
    this.#openTickets++;
  }

  /** A request is over. The last one frees the engine of a client that was disposed of. */
  leave(): void {
    this.#openTickets--;
    if (this.#isDisposed && this.#openTickets === 0) this.#free();
  }

  /** Tells the engine something that comes after its request, and perhaps after its client. */
  tell(work: (engine: Engine, now: number) => void): void {
    if (!this.#isDisposed) this.mend(() => work(this.engine, this.now()));
  }

  /** Looked up when called, since pages replace it, and called without a `this`, which browsers insist on. */
  fetch(url: string | URL | Request, request: RequestInit): Promise<Response> {
    const send = this.ownFetch ?? globalThis.fetch;
    return send(url, request);
  }

  /** The time as the engine sees it. */
  now(): number {
    return this.clock() + this.#lag;
  }

  /**
   * Calls `work` after `ms`. At least that much time has passed then, also by a clock that stands still between
   * I/O (Workers) or was set back: without saying so, a wait could go on for ever.
   */
  later(ms: number, work: () => void): ReturnType<typeof setTimeout> {
    const due = this.now() + ms;
    return setTimeout(
      () => {
        this.#lag += Math.max(0, due - this.now());
        work();
      },
      // Longer timers would fire at once.
      Math.min(Math.ceil(ms), 0x7fff_ffff),
    );
  }

  /** The engine's number of a method. Of a name that is longer than any real one only the start counts. */
  method(given: string): number {
    // Put together anew, since a slice would keep the whole text alive.
    const name = given.length > LONGEST_METHOD ? Array.from(given.slice(0, LONGEST_METHOD)).join('') : given;
    let number = this.#methods.get(name);
    if (number === undefined) {
      number = this.engine.method(name);
      if (this.#methods.size < METHOD_CACHE) this.#methods.set(name, number);
    }
    return number;
  }

  /** The provider with a number of the engine's. */
  provider(place: number): Provider {
    const provider = this.topology.providers[place]?.provider;
    if (provider === undefined) throw new Error('The engine named an unknown provider.');
    return provider;
  }

  /**
   * Those of the best health tier that there is among these, which are given by the engine's numbers. With an open
   * breaker nobody is healthy: whoever finds no one else leaves it to the engine whom to try.
   */
  healthiest(placed: ReadonlyMap<number, URL>): URL[] {
    const tiers = this.engine.tiers(this.now(), Uint32Array.from(placed.keys()));
    const best = tiers.reduce((a, b) => Math.min(a, b), OPEN_TIER - 1);
    return [...placed.values()].filter((_, index) => tiers[index] === best);
  }

  /** The one that a strategy of the engine puts first. */
  first(placed: ReadonlyMap<number, URL>, pool: Pool, method: string, strategy: number): URL | undefined {
    const places = Uint32Array.from(placed.keys());
    return placed.get(this.engine.pick(this.now(), pool.place, this.method(method), strategy, places));
  }

  /** Ids of ours, so that members of a batch cannot collide whatever ids their callers chose. */
  nextId(): number {
    return this.#nextId++;
  }

  rememberFilter(pool: number, filter: string, endpoint: number): void {
    const oldest = this.#filters.keys().next().value;
    if (this.#filters.size >= FILTER_CACHE && oldest !== undefined) this.#filters.delete(oldest);
    this.#filters.set(`${pool}:${filter}`, endpoint);
  }

  filterOwner(pool: number, filter: unknown): number | undefined {
    return typeof filter === 'string' ? this.#filters.get(`${pool}:${filter}`) : undefined;
  }

  /** Calls `stop` when the caller's signal fires or the client is disposed of; returns how to forget that. */
  whenAborted(signal: AbortSignal | undefined, stop: () => void): () => void {
    if (signal?.aborted === true) {
      stop();
      return () => undefined;
    }
    this.#stops.add(stop);
    signal?.addEventListener('abort', stop, { once: true });
    return () => {
      this.#stops.delete(stop);
      signal?.removeEventListener('abort', stop);
    };
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** Stops everything that is under way, and frees the engine as soon as nobody needs it. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const stop of [...this.#stops]) stop();
    this.events.clear();
    if (this.#openTickets === 0) this.#free();
  }

  #free(): void {
    try {
      this.engine.free();
    } catch {
      // It has panicked before and goes with its instance.
    }
  }

  /** Passes on what breakers and limits have to tell, if anybody listens. */
  tellNews(): void {
    if (!this.events.has('circuit') && !this.events.has('ratelimit')) return;
    for (;;) {
      const [kind, endpoint, value] = this.engine.pollNews();
      if (kind === undefined || endpoint === undefined || value === undefined) return;
      const known = this.topology.providers[endpoint];
      if (known === undefined) continue;
      const { provider, pool } = known;
      const place = { profile: pool.profile, chain: pool.chain, provider: provider.id };
      if (kind === 0) this.events.emit('circuit', { ...place, state: circuitName(value) });
      else this.events.emit('ratelimit', { ...place, forMs: value });
    }
  }
}

/** Whether an error came out of the wasm module rather than out of a request. */
function isPanic(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || /waypost panicked|recursive use/.test(String(error));
}
