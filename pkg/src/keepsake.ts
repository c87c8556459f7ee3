/** What an engine has learnt, kept outside of it: one that has panicked cannot be asked any more. */

import type { Core } from './core.js';

/** Time between two rounds over the providers. */
const ROUND_MS = 10_000;
/** Providers that are kept; the rest start anew. A provider with 100 methods takes 60 KB here. */
const MOST_KEPT = 100;

export class Keepsake {
  readonly #kept: { at: number; learnt: Float64Array }[] = [];
  #next = 0;
  #due = 0;

  /** Called with every request: copies what is known of one provider, until it has been round. */
  update(core: Core): void {
    const now = core.now();
    // A clock that was set back would else put the next round off.
    if (now < this.#due && now >= this.#due - ROUND_MS) return;
    const place = this.#next++;
    if (place < Math.min(core.topology.providers.length, MOST_KEPT)) {
      this.#kept[place] = { at: now, learnt: core.engine.exportState(now, place, false) };
    } else {
      this.#next = 0;
      this.#due = now + ROUND_MS;
    }
  }

  /** Gives it to a new engine, whose providers and methods have the numbers that they had. */
  restore(core: Core): void {
    const now = core.now();
    this.#kept.forEach(({ at, learnt }, place) => core.engine.importState(now, place, learnt, now - at, false));
  }
}
