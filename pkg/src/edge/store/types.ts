/** Where learnt state is kept, and who uses it. */

/**
 * Where isolates or tabs leave what they have learnt for each other. Everything here may be slow or fail: nobody waits
 * for it.
 *
 * @example
 * import { readFile, writeFile } from 'node:fs/promises'
 * import type { StateStore } from 'waypost'
 * const fileStore: StateStore = {
 *   load: async () => JSON.parse(await readFile('state.json', 'utf8')),
 *   save: (state) => writeFile('state.json', JSON.stringify(state)),
 * }
 */
export interface StateStore {
  /** Resolves to what all others than `source` have learnt, merged; `undefined` or `null` if there is nothing. */
  load(source?: string): Promise<unknown>;
  /**
   * Puts `state`, which is what `source` has seen itself, in the place of what it saved before.
   *
   * @returns what `load` would resolve to, if it costs nothing: then `load` is not called
   */
  save(state: object, source: string): Promise<unknown>;
  /**
   * Calls `listener` when others have saved; returns how to stop that. A store that has it is loaded as soon as it is
   * attached.
   */
  subscribe?(listener: () => void): () => void;
  /** The time between two exchanges that suits the store, in milliseconds. */
  readonly intervalMs?: number;
}

/** What of an `RpcClient` is used here. */
export interface StatefulClient {
  exportState(options?: { own?: boolean }): object;
  importState(state: unknown, options?: { shared?: boolean }): void;
  on(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}
