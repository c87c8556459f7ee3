/** The choice of gateways for one request: asks the strategy, again after every failure, and remembers whom it knows. */

import type { GatewayCore } from '../gateway-core.js';
import { describe } from '../options.js';
import { bounded, sendProbe } from '../routing/probe.js';
import type { ProbeOptions } from '../routing/probe.js';
import { withContext } from '../routing/context.js';
import type { RoutingContext } from '../routing/context.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import type { Target } from './url.js';

/** Time that the strategy has for all its choices in one request. Whom it has named by then is asked without it. */
const CHOICE_MS = 15_000;
/** How often a strategy may name somebody who has failed before it is not asked any more. */
const MOST_REPEATS = 5;

export class Selection implements RoutingContext {
  /** Everybody that the strategy has heard of or named, by the engine's number. */
  readonly known = new Map<number, URL>();
  /** Why the strategy had no choice. */
  error: unknown;
  readonly #tried: URL[] = [];
  readonly #suspects = new Set<string>();
  #leftMs = CHOICE_MS;
  #repeats = 0;

  constructor(
    readonly core: GatewayCore,
    readonly strategy: RoutingStrategy,
    readonly target: Target,
    readonly signal: AbortSignal | undefined,
  ) {}

  /** Whether the strategy may be asked. */
  get isOpen(): boolean {
    return this.#leftMs > 0;
  }

  /** Notes that a gateway has been asked: it is not asked again. */
  spend(gateway: URL): void {
    this.#tried.push(gateway);
  }

  /** The strategy's next choice; `undefined` once it has none, and `error` says why. */
  async choose(): Promise<URL | undefined> {
    const { core } = this;
    const began = core.now();
    try {
      return await bounded(this.#leftMs, this.signal, () => this.#next());
    } catch (error) {
      this.error ??= error;
      this.#leftMs = 0;
      return undefined;
    } finally {
      this.#leftMs -= Math.max(0, core.now() - began);
    }
  }

  /** What the strategy says now, whatever that is. */
  async ask(): Promise<URL> {
    const { path, subdomain } = this.target;
    const params: RoutingParams = { path, subdomain };
    if (this.signal !== undefined) params.signal = this.signal;
    if (this.#tried.length > 0) params.exclude = [...this.#tried];
    const chosen: unknown = await this.strategy.selectGateway(withContext(params, this));
    if (typeof chosen === 'string') return new URL(chosen);
    if (typeof Object(chosen).origin === 'string') return chosen as URL;
    throw new Error(`The routing strategy must choose a URL, but chose ${describe(chosen)}.`);
  }

  async #next(): Promise<URL> {
    for (;;) {
      const doubts = this.#suspects.size;
      try {
        const gateway = await this.ask();
        if (!this.#isTried(gateway)) return gateway;
        this.#repeats += 1;
        if (this.#repeats >= MOST_REPEATS) throw new Error('The routing strategy names only gateways that have failed.');
      } catch (error) {
        // Probes that failed leave the strategy with less to choose from: that is worth another try.
        if (this.#suspects.size === doubts) throw error;
        this.error ??= error;
      }
    }
  }

  #isTried({ origin }: URL): boolean {
    return this.#tried.some((tried) => tried.origin === origin);
  }

  healthy(gateways: readonly URL[]): URL[] {
    for (const [place, gateway] of this.core.placed(gateways)) {
      if (!this.known.has(place)) this.known.set(place, gateway);
    }
    const open = gateways.filter((gateway) => !this.#suspects.has(gateway.origin) && !this.#isTried(gateway));
    return this.core.healthy(open);
  }

  pick(gateways: readonly URL[], strategy: number): URL | undefined {
    return this.core.pick(gateways, strategy);
  }

  async probe(gateway: URL, options: ProbeOptions, signal: AbortSignal): Promise<number> {
    const doubt = (): void => void this.#suspects.add(gateway.origin);
    // Whoever only lost a race is aborted without a reason of its own.
    signal.addEventListener('abort', () => signal.reason?.name === 'AbortError' || doubt(), { once: true });
    try {
      const ms = await sendProbe((url, init) => this.core.fetch(url, init), gateway, options, signal);
      this.core.note(gateway, ms, true);
      return ms;
    } catch (error) {
      if (!signal.aborted) doubt();
      throw error;
    }
  }
}
