import { anything, check } from '../../checks.js';
import { mergeSlots, parseBounded, putSlot } from './slots.js';
import type { Slots } from './slots.js';
import type { StateStore } from './types.js';

/** A slot is written to storage at most this often. */
const STORED_EVERY_MS = 10_000;
const PREFIX = 'slot:';

/** What of a namespace of Durable Objects is used. */
export interface DurableNamespace<Id> {
  idFromName(name: string): Id;
  get(id: Id): { fetch(url: string, init?: { method: string; body: string }): Promise<Answer> };
}

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  text(): Promise<string>;
}

/**
 * Shares what is learnt through a Durable Object, {@link WaypostState}, which the Worker exports: an outage that one
 * isolate sees is known to the others with their next request that is at least `intervalMs` after the last. An exchange
 * is one call.
 *
 * @param options.name of the object; `waypost` by default
 *
 * @example
 * export { WaypostState } from 'waypost'
 * // wrangler.toml: [[durable_objects.bindings]] name = "STATE", class_name = "WaypostState"
 * const learnt = attachStore(client, durableObjectStore(env.STATE))
 */
export function durableObjectStore<Id>(namespace: DurableNamespace<Id>, options: { name?: string } = {}): StateStore {
  const { name = 'waypost' } = check('durableObjectStore', options, { name: anything });
  const ask = async (source = '', state?: object): Promise<object | undefined> => {
    // A stub belongs to the request in which it was made.
    const stub = namespace.get(namespace.idFromName(name));
    const url = `http://waypost/?source=${source}`;
    const answer = await (state === undefined ? stub.fetch(url) : stub.fetch(url, { method: 'POST', body: JSON.stringify(state) }));
    const text = await answer.text();
    const others = answer.ok ? parseBounded(text) : undefined;
    if (typeof others !== 'object') throw new Error(`The Durable Object ${name} answered ${answer.status} and no state.`);
    // It is as of now; the object's clock is none of ours.
    return { ...others, savedAt: Date.now() };
  };
  return { load: ask.bind(undefined), save: (state, source) => ask(source, state) };
}

/** What of a Durable Object's state is used. */
export interface DurableState {
  readonly storage: {
    list(options: { prefix: string }): Promise<Map<string, unknown>>;
    put(key: string, value: string, options: { allowUnconfirmed: boolean }): Promise<void>;
    delete(keys: string[]): Promise<unknown>;
  };
}

/**
 * The Durable Object behind {@link durableObjectStore}: keeps what up to 32 isolates have seen in the last ten minutes, in
 * memory and, for when it is evicted, in storage. Ages are counted by its own clock from the moment a state arrives.
 *
 * `GET /?source=ID` answers what all others have seen, merged; `POST` with a state puts it in the place of what the
 * source sent before, and answers the same.
 *
 * @example
 * export { WaypostState } from 'waypost'
 */
export class WaypostState {
  readonly #storage: DurableState['storage'];
  readonly #slots: Slots = new Map();
  readonly #storedAt = new Map<string, number>();
  #restored: Promise<void> | undefined;

  /** Called by the runtime. */
  constructor(state: DurableState) {
    this.#storage = state.storage;
  }

  /** Called by {@link durableObjectStore}. Answers 400 to what is not a state, or is too long. */
  async fetch(request: Request): Promise<Response> {
    // Without what was stored, isolates tell it again.
    this.#restored ??= this.#restore().catch(() => undefined);
    await this.#restored;
    const source = new URL(request.url).searchParams.get('source') ?? '';
    if (request.method === 'POST') {
      const state = parseBounded(await request.text()) as object | null | undefined;
      const now = Date.now();
      if (!putSlot(this.#slots, source, { ...state, savedAt: now }, now)) return new Response('This is not a state.', { status: 400 });
      this.#store(source, now);
    }
    return Response.json(mergeSlots(this.#slots, Date.now(), source));
  }

  async #restore(): Promise<void> {
    const now = Date.now();
    for (const [key, text] of await this.#storage.list({ prefix: PREFIX })) {
      const source = key.slice(PREFIX.length);
      putSlot(this.#slots, source, parseBounded(text as string), now);
      this.#storedAt.set(source, now);
    }
  }

  /** Not waited for: isolates send again what is lost. */
  #store(source: string, now: number): void {
    if (now - (this.#storedAt.get(source) ?? 0) < STORED_EVERY_MS) return;
    const gone = [...this.#storedAt.keys()].filter((stored) => !this.#slots.has(stored));
    for (const stored of gone) this.#storedAt.delete(stored);
    this.#storedAt.set(source, now);
    const writes = [this.#storage.put(PREFIX + source, JSON.stringify(this.#slots.get(source)), { allowUnconfirmed: true })];
    if (gone.length > 0) writes.push(this.#storage.delete(gone.map((stored) => PREFIX + stored)).then(() => undefined));
    void Promise.allSettled(writes);
  }
}
