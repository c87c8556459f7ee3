import { mergeSlots, putSlot } from './slots.js';
import type { Slots } from './slots.js';
import type { StateStore } from './types.js';

/**
 * Shares what is learnt among the clients of one process, in its memory.
 *
 * @example
 * const store = memoryStore()
 * for (const client of [first, second]) attachStore(client, store)
 */
export function memoryStore(): StateStore {
  const slots: Slots = new Map();
  const load = async (source?: string): Promise<object> => mergeSlots(slots, Date.now(), source);
  return {
    load,
    save(state, source) {
      putSlot(slots, source, state, Date.now());
      return load(source);
    },
  };
}
