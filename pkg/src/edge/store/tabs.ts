import { anything, check } from '../../checks.js';
import { mergeSlots, parseBounded, putSlot } from './slots.js';
import type { Slots } from './slots.js';
import type { StateStore } from './types.js';

/**
 * Shares what is learnt among the tabs of a site: through `localStorage`, where the next page finds it, and through a
 * `BroadcastChannel`, by which open tabs hear of it at once. Works with either of them alone; with neither, nothing is
 * shared.
 *
 * @param options.key names the items in storage, as `<key>:state:<tab>`, and the channel; `waypost` by default
 *
 * @example
 * const rpc = createRpcClient({ providers })
 * attachStore(rpc, tabStore())
 */
export function tabStore(options: { key?: string } = {}): StateStore {
  const { key = 'waypost' } = check('tabStore', options, { key: anything });
  const prefix = `${key}:state:`;
  const slots: Slots = new Map();
  const listeners = new Set<() => void>();
  let channel: BroadcastChannel | undefined;
  let hasRead = false;

  /** Takes over what is in storage, and removes what has no use any more. */
  const read = (): void => {
    hasRead = true;
    withStorage((storage) => {
      const items = Object.keys(storage).filter((item) => item.startsWith(prefix));
      for (const item of items) putSlot(slots, item.slice(prefix.length), parseBounded(storage.getItem(item)), Date.now());
      for (const item of items) if (!slots.has(item.slice(prefix.length))) storage.removeItem(item);
    });
  };

  return {
    async load(source) {
      // Open tabs tell by the channel; what is in storage is of earlier ones, or there is no channel.
      if (!hasRead || channel === undefined) read();
      return mergeSlots(slots, Date.now(), source);
    },
    async save(state, source) {
      putSlot(slots, source, state, Date.now());
      channel?.postMessage({ source, state });
      withStorage((storage) => storage.setItem(prefix + source, JSON.stringify(state)));
    },
    subscribe(listener) {
      listeners.add(listener);
      if (channel === undefined && typeof BroadcastChannel === 'function') {
        channel = new BroadcastChannel(prefix);
        // Node would not end while it is open.
        (channel as { unref?: () => void }).unref?.();
        channel.onmessage = ({ data }: MessageEvent<{ source?: unknown; state?: unknown } | null>) => {
          if (putSlot(slots, data?.source, data?.state, Date.now())) for (const each of listeners) each();
        };
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        channel?.close();
        channel = undefined;
      };
    },
  };
}

/** Storage may be missing, full or forbidden: then there is the channel, or each tab learns for itself. */
function withStorage(action: (storage: Storage) => void): void {
  try {
    action(globalThis.localStorage);
  } catch {
    // See above.
  }
}
