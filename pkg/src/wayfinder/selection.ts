/** The choice of gateways for one request: asks the strategy, again after every failure, and remembers whom it knows. */

import { limited } from '../bounded.js';
import type { GatewayCore } from '../gateway-core.js';
import { toGateway } from '../gateways/list.js';
import { withContext } from '../routing/context.js';
import type { RoutingContext } from '../routing/context.js';
import { sendProbe } from '../routing/probe.js';
import type { ProbeOptions } from '../routing/probe.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';
import type { Target } from './url.js';

/** Gateways of its choice before the engine goes through the rest: every choice may cost a race of probes. */
const MOST_CHOICES = 3;
/** How often a strategy may name somebody who has failed before it is not asked any more. */
const MOST_REPEATS = 5;

export class Selection implements RoutingContext {
  /** Everybody that the strategy has heard of or named, by the engine's number. */
  readonly known: Map<number, URL>;
  /** Why the strategy had no choice. */
  error: unknown;
  readonly #tried: URL[];
  readonly #suspects: Set<string>;
  readonly #probes = new Set<AbortController>();
  #isOver = false;
  #repeats = 0;

  /**
   * @param leftMs time for all choices together
   * @param from a selection whose knowledge is shared
   */
  constructor(
    readonly core: GatewayCore,
    readonly strategy: RoutingStrategy,
    readonly target: Target,
    readonly signal: AbortSignal | undefined,
    private leftMs: number,
    from?: Selection,
  ) {
    this.known = from?.known ?? new Map();
    this.#tried = from === undefined ? [] : from.#tried;
    this.#suspects = from === undefined ? new Set() : from.#suspects;
  }

  /** Whether the strategy is to be asked. After a few choices it is enough that others are known. */
  get isOpen(): boolean {
    return this.leftMs > 0 && (this.#tried.length < MOST_CHOICES || this.known.size <= this.#tried.length);
  }

  /** Notes that a gateway has been asked: it is not asked again. */
  spend(gateway: URL): void {
    this.#tried.push(gateway);
  }

  /** Ends all probes: nobody waits for a choice any more. */
  end(): void {
    this.#isOver = true;
    for (const probe of this.#probes) probe.abort();
  }

  /** The strategy's next choice; `undefined` once it has none, and `error` says why. */
  async choose(): Promise<URL | undefined> {
    const { core, leftMs } = this;
    const began = core.now();
    try {
      const late = `The routing strategy did not choose within ${Math.round(leftMs)} ms.`;
      return await limited(this.#next(), leftMs, this.signal, undefined, late);
    } catch (error) {
      this.error ??= error;
      this.leftMs = 0;
      return undefined;
    } finally {
      this.leftMs -= Math.max(0, core.now() - began);
    }
  }

  /** One choice, with the strategy's own error if there is none. */
  async once(): Promise<URL> {
    return limited(this.#ask(), this.leftMs, undefined);
  }

  async #ask(): Promise<URL> {
    const { path, subdomain } = this.target;
    const params: RoutingParams = { path, subdomain };
    if (this.signal !== undefined) params.signal = this.signal;
    if (this.#tried.length > 0) params.exclude = [...this.#tried];
    const chosen: unknown = await this.strategy.selectGateway(withContext(params, this));
    const gateway = toGateway(chosen);
    if (gateway !== undefined) return gateway;
    // What it chose may hold a password.
    throw new Error(`The routing strategy chose no http: or https: URL without credentials, but something of the type ${typeof chosen}.`);
  }

  async #next(): Promise<URL> {
    for (;;) {
      const doubts = this.#suspects.size;
      try {
        const gateway = await this.#ask();
        if (!this.#isTried(gateway)) return gateway;
        this.#repeats += 1;
        if (this.#repeats >= MOST_REPEATS) throw new Error('The routing strategy only names gateways that have failed.');
      } catch (error) {
        // Probes that failed leave the strategy with less to choose from: that is worth another try.
        if (this.#suspects.size === doubts || this.leftMs <= 0 || this.#isOver) throw error;
        this.error ??= error;
      }
    }
  }

  #isTried({ origin }: URL): boolean {
    return this.#tried.some((tried) => tried.origin === origin);
  }

  healthy(gateways: readonly URL[]): URL[] {
    const open = new Map<number, URL>();
    for (const [place, gateway] of this.core.placed(gateways)) {
      if (!this.known.has(place)) this.known.set(place, gateway);
      if (!this.#suspects.has(gateway.origin) && !this.#isTried(gateway)) open.set(place, gateway);
    }
    return this.core.healthiest(open);
  }

  trusts(gateway: URL): boolean {
    const { core } = this;
    const place = core.place(gateway);
    return place !== undefined && core.engine.isTrusted(core.now(), place);
  }

  pick(gateways: readonly URL[], strategy: number): URL | undefined {
    return this.core.pick(gateways, strategy);
  }

  lasting(): RoutingContext {
    return new Selection(this.core, this.strategy, this.target, undefined, Infinity, this);
  }

  async probe(gateway: URL, options: ProbeOptions, signal: AbortSignal): Promise<number> {
    if (this.#isOver) throw new Error('The request has ended.');
    const controller = new AbortController();
    const stop = (): void => {
      // Whoever only lost a race is aborted without a reason of its own.
      if (signal.reason?.name !== 'AbortError') this.#suspects.add(gateway.origin);
      controller.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#probes.add(controller);
    try {
      const ms = await sendProbe((url, init) => this.core.fetch(url, init), gateway, options, controller.signal);
      this.core.note(gateway, ms, true);
      return ms;
    } catch (error) {
      if (!controller.signal.aborted) this.#suspects.add(gateway.origin);
      throw error;
    } finally {
      this.#probes.delete(controller);
      signal.removeEventListener('abort', stop);
    }
  }
}
