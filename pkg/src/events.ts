/** Listeners by event name. */

type Listener = (event: never) => void;

export class Emitter<Events extends object> {
  readonly #listeners = new Map<string, Set<Listener>>();

  on(name: string, listener: Listener): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) this.#listeners.set(name, new Set([listener]));
    else listeners.add(listener);
  }

  removeListener(name: string, listener: Listener): void {
    const listeners = this.#listeners.get(name);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(name);
  }

  has(name: keyof Events & string): boolean {
    return this.#listeners.has(name);
  }

  /** Calls every listener there is now. A listener that throws stops neither the others nor the request. */
  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of [...listeners]) {
      try {
        (listener as (event: Events[Name]) => void)(event);
      } catch (error) {
        report(error);
      }
    }
  }

  count(name: keyof Events & string): number {
    return this.#listeners.get(name)?.size ?? 0;
  }

  clear(name?: keyof Events & string): void {
    if (name === undefined) this.#listeners.clear();
    else this.#listeners.delete(name);
  }
}

function report(error: unknown): void {
  if (typeof globalThis.reportError === 'function') globalThis.reportError(error);
  else console.error(error);
}
