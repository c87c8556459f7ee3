/** The engine's side of content: gateways by origin, each with a breaker, limits and measurements of its own. */

import { Core } from './core.js';
import { engineClass } from './engine.js';
import type { Engine } from './engine.js';
import { addProfile } from './topology.js';
import type { Pool, Provider, Topology } from './topology.js';
import type { RoutingOptions } from './types.js';

/** Gateways that one client remembers. Beyond that the one that was listed longest ago is forgotten. */
const MOST_GATEWAYS = 4096;
/** Gateways of one list; the rest are left out. */
const MOST_LISTED = 1024;

/** How content is routed. */
export interface ContentOptions extends Pick<RoutingOptions, 'circuitBreaker' | 'rateLimit'> {
  /** Time for a whole request, up to the headers and with the choice of gateways: 1 to 86,400,000 ms, default 45,000. */
  deadlineMs?: number;
  /** Time for one attempt, up to the headers: 1 to 86,400,000 ms, default 15,000. */
  attemptTimeoutMs?: number;
  /** Gateways asked for one request: 1 to 64, default 64. */
  maxAttempts?: number;
  /** Monotonic clock in milliseconds. Default `performance.now`. */
  now?: () => number;
  /** Makes the engine's random choices repeatable. Any finite number. */
  seed?: number;
}

interface ContentTopology extends Topology {
  pool: Pool & { providers: Provider[] };
  providers: { provider: Provider; pool: Pool }[];
  /** Places by origin, the one that was listed longest ago first. */
  places: Map<string, number>;
}

export class GatewayCore extends Core<ContentTopology> {
  constructor(options: ContentOptions, fetch: typeof globalThis.fetch | undefined) {
    super(() => build(options), fetch, options.now ?? (() => performance.now()));
  }

  /** The engine's number of a gateway. `undefined` if too many are known and all of them are in use. */
  place(gateway: URL): number | undefined {
    const { engine, topology } = this;
    const { places, pool } = topology;
    const { origin } = gateway;
    const place = places.get(origin) ?? (places.size < MOST_GATEWAYS ? engine.addGateway(pool.place) : this.#recycle());
    if (place === undefined) return undefined;
    if (places.size > MOST_GATEWAYS / 2) {
      // Moved to the end: the beginning is forgotten first. While there is room, the order does not matter.
      places.delete(origin);
    }
    places.set(origin, place);
    const id = gateway.host;
    if (topology.providers[place]?.provider.url !== origin) {
      const provider = { place, id, url: origin, headers: {}, secrets: [], maxBatch: 1 };
      topology.providers[place] = { provider, pool };
      pool.providers[place] = provider;
    }
    return place;
  }

  protected override repopulate(before: ContentTopology): void {
    for (const { provider } of before.providers) this.place(new URL(provider.url));
  }

  #recycle(): number | undefined {
    for (const [origin, place] of this.topology.places) {
      if (!this.engine.forgetGateway(place)) continue;
      this.topology.places.delete(origin);
      return place;
    }
    return undefined;
  }

  /** Gateways with their numbers, each number once. */
  placed(gateways: readonly URL[]): Map<number, URL> {
    const placed = new Map<number, URL>();
    for (const gateway of gateways.slice(0, MOST_LISTED)) {
      const place = this.place(gateway);
      if (place !== undefined && !placed.has(place)) placed.set(place, gateway);
    }
    return placed;
  }

  /** Those of the best health tier that there is among them. */
  healthy(gateways: readonly URL[]): URL[] {
    return this.mend(() => this.healthiest(this.placed(gateways)));
  }

  /** The one that a strategy of the engine puts first. */
  pick(gateways: readonly URL[], strategy: number): URL | undefined {
    return this.mend(() => this.first(this.placed(gateways), this.topology.pool, 'GET', strategy));
  }

  /** Takes note of a success after `ms`, or of a failure (negative). A probe measures, and says nothing of health. */
  note(gateway: URL, ms: number, isProbe: boolean): void {
    this.tell((engine, now) => {
      const place = this.place(gateway);
      if (place !== undefined) engine.note(now, place, this.method(isProbe ? 'HEAD' : 'GET'), ms, isProbe);
    });
  }

  /** Takes note of how a body ended, whose headers were good. */
  endBody(gateway: URL, isWhole: boolean): void {
    this.tell((engine, now) => {
      const place = this.place(gateway);
      if (place !== undefined) engine.endBody(now, place, this.method('GET'), isWhole);
    });
  }
}

function build(options: ContentOptions): { engine: Engine; topology: ContentTopology } {
  const engine = new (engineClass())(options.seed);
  // One measurement is enough to prefer somebody: content is asked for less often than blocks.
  const strategies = { fastest: { minCalls: 1 }, latencyWeighted: { minCalls: 1 } };
  const profile = addProfile(engine, { strategies, ...options }, '');
  const pool = {
    place: engine.addContentPool(profile),
    profile: 'default',
    chain: 'content',
    chainId: undefined,
    aliases: [],
    noun: 'gateway' as const,
    providers: [],
    gateways: undefined,
    strategy: undefined,
    failoverOnOverride: true,
    deadlineMs: options.deadlineMs,
  };
  const topology = { profiles: new Map([['default', [pool]]]), providers: [], defaultChain: 'content', pool, places: new Map() };
  return { engine, topology };
}
