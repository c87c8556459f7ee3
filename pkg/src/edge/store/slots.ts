/** One place for each source, which its newer state replaces: however often it is told, it counts once. */

import { VERSION } from '../../state.js';
import type { SavedState } from '../../state.js';
import { merge, MOST_CHARS, STALE_MS } from './merge.js';

const MOST_SLOTS = 32;

export type Slots = Map<string, SavedState>;

/** Keeps what `source` has seen; false if it is nothing that can be kept, or older than what is. */
export function putSlot(slots: Slots, source: unknown, state: unknown, now: number): boolean {
  if (typeof source !== 'string' || !/^\w{1,64}$/.test(source)) return false;
  const kept = merge([state]);
  // Without a date, nothing could be read.
  if (kept.savedAt === 0) return false;
  // A date in the future would make it stay for ever.
  const savedAt = Math.min(kept.savedAt, now);
  if (savedAt < Math.min(slots.get(source)?.savedAt ?? 0, now)) return false;
  slots.set(source, { ...kept, savedAt });
  const byAge = [...slots].sort(([, a], [, b]) => b.savedAt - a.savedAt);
  byAge.forEach(([name, slot], rank) => {
    if (rank >= MOST_SLOTS || now - slot.savedAt > STALE_MS) slots.delete(name);
  });
  return slots.has(source);
}

/** What all but one source have seen, as of now. */
export function mergeSlots(slots: Slots, now: number, except?: string): object {
  const others = [...slots].flatMap(([source, slot]) => (source === except || now - slot.savedAt > STALE_MS ? [] : [slot]));
  return merge([...others, { version: VERSION, savedAt: now, providers: [] }]);
}

/** Reads what was stored as text. */
export function parseBounded(text: string | null | undefined): unknown {
  if (typeof text !== 'string' || text.length > MOST_CHARS + 200) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
