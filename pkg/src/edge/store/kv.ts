import { anything, check, wholeFrom } from '../../checks.js';
import { mergeSlots, parseBounded, putSlot } from './slots.js';
import type { Slots } from './slots.js';
import type { StateStore } from './types.js';

/** Keys in the namespace, and so isolates that are heard. */
const PLACES = 16;

/** What of a Workers KV namespace is used. */
export interface KvNamespace {
  get(keys: string[]): Promise<Map<string, string | null>>;
  put(key: string, value: string, options: { expirationTtl: number }): Promise<void>;
}

/**
 * Shares what is learnt through Workers KV. A change is seen elsewhere after up to a minute: for less, take
 * {@link durableObjectStore}. Exchanges every 30 s unless {@link attachStore} is told otherwise.
 *
 * Each isolate writes to one of 16 keys, to a free one if there is any, and reads all of them with one call. One key for
 * all would be written more often than the once per second that KV allows, and who reads before writing would lose what
 * others wrote meanwhile; a key per isolate would have to be listed, which costs ten times as much as reading. With more
 * than 16 isolates at work, some take each other's place.
 *
 * @param options.key what the keys start with; `waypost` by default
 * @param options.ttlSeconds how long a value stays, in seconds from 60; 600 by default
 * @throws RangeError if `ttlSeconds` is out of its range
 *
 * @example
 * const learnt = attachStore(client, kvStore(env.STATE))
 * learnt.touch((promise) => ctx.waitUntil(promise))   // in every request
 */
export function kvStore(namespace: KvNamespace, options: { key?: string; ttlSeconds?: number } = {}): StateStore {
  const { key = 'waypost', ttlSeconds = 600 } = check('kvStore', options, { key: anything, ttlSeconds: wholeFrom(60) });
  const keys = Array.from({ length: PLACES }, (_, place) => `${key}:${place}`);
  /** Who holds each key, as of the last reading, which may be old. */
  const holders = new Map<string, unknown>();
  const places = new Map<string, string>();
  let hasRead = false;

  const load = async (source?: string): Promise<object> => {
    const texts = await namespace.get(keys);
    const slots: Slots = new Map();
    holders.clear();
    hasRead = true;
    for (const [place, text] of texts) {
      const entry = parseBounded(text) as { source?: unknown; state?: unknown } | null | undefined;
      putSlot(slots, entry?.source, entry?.state, Date.now());
      if (entry?.source !== undefined) holders.set(place, entry.source);
    }
    return mergeSlots(slots, Date.now(), source);
  };

  return {
    intervalMs: 30_000,
    load,
    async save(state, source) {
      if (!hasRead) await load();
      let place = places.get(source);
      if (place === undefined || (holders.get(place) ?? source) !== source) {
        const free = keys.filter((each) => !holders.has(each));
        place = anyOf(free.length > 0 ? free : keys);
        places.set(source, place);
      }
      holders.set(place, source);
      await namespace.put(place, JSON.stringify({ source, state }), { expirationTtl: ttlSeconds });
    },
  };
}

const anyOf = (places: readonly string[]): string => places[Math.floor(Math.random() * places.length)] ?? '';
