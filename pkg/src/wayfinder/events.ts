import { Emitter } from '../events.js';
import type { WayfinderEvent, WayfinderEventArgs, WayfinderEvents } from './types.js';

type Name = keyof WayfinderEvent;

/** Names of events by the names of their callbacks. */
export const CALLBACKS: Record<keyof WayfinderEvents, Name> = {
  onRoutingStarted: 'routing-started',
  onRoutingSkipped: 'routing-skipped',
  onRoutingSucceeded: 'routing-succeeded',
  onRoutingFailed: 'routing-failed',
  onVerificationSucceeded: 'verification-succeeded',
  onVerificationFailed: 'verification-failed',
  onVerificationProgress: 'verification-progress',
};

/**
 * Where events of a client arrive.
 *
 * @example
 * wayfinder.emitter.on('routing-failed', (error) => console.warn(error.message));
 */
export class WayfinderEmitter {
  readonly #emitter = new Emitter<WayfinderEvent>();
  /** What stands for a listener that is called once. */
  readonly #once = new WeakMap<object, (event: never) => void>();
  readonly #parent: Pick<WayfinderEmitter, 'emit'> | undefined;

  /**
   * @param options.routing callbacks for routing
   * @param options.verification callbacks for verification
   * @param options.parentEmitter gets every event after the listeners here
   */
  constructor(options: WayfinderEventArgs = {}) {
    const { routing, verification, parentEmitter } = options;
    this.#parent = parentEmitter;
    for (const [key, callback] of Object.entries({ ...routing, ...verification })) {
      const name = CALLBACKS[key as keyof typeof CALLBACKS] as Name | undefined;
      if (name !== undefined && typeof callback === 'function') this.#emitter.on(name, callback as never);
    }
  }

  /** Calls `listener` at every event of that name. */
  on<N extends Name>(name: N, listener: (event: WayfinderEvent[N]) => void): this {
    this.#emitter.on(name, listener);
    return this;
  }

  /** As {@link WayfinderEmitter.on}. */
  addListener<N extends Name>(name: N, listener: (event: WayfinderEvent[N]) => void): this {
    return this.on(name, listener);
  }

  /** Calls `listener` at the next event of that name only. */
  once<N extends Name>(name: N, listener: (event: WayfinderEvent[N]) => void): this {
    const first = (event: WayfinderEvent[N]): void => {
      this.off(name, listener);
      listener(event);
    };
    this.#once.set(listener, first);
    return this.on(name, first);
  }

  /** Stops calling `listener`; without one, any listener of that name. */
  off<N extends Name>(name: N, listener?: (event: WayfinderEvent[N]) => void): this {
    if (listener === undefined) return this.removeAllListeners(name);
    this.#emitter.removeListener(name, this.#once.get(listener) ?? listener);
    return this;
  }

  /** Forgets all listeners, or those of one name. */
  removeAllListeners(name?: Name): this {
    this.#emitter.clear(name);
    return this;
  }

  /** How many listen to a name. */
  listenerCount(name: Name): number {
    return this.#emitter.count(name);
  }

  /** As {@link WayfinderEmitter.off}. */
  removeListener<N extends Name>(name: N, listener: (event: WayfinderEvent[N]) => void): this {
    return this.off(name, listener);
  }

  /** Calls all listeners and returns whether there were any. One that throws stops neither the others nor the request. */
  emit<N extends Name>(name: N, event: WayfinderEvent[N]): boolean {
    const has = this.#emitter.has(name);
    this.#emitter.emit(name, event);
    return this.#parent?.emit(name, event) === true || has;
  }
}
