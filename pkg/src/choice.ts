/** What the shell adds to the engine's choice: strategy objects of the user, and the span of a log query. */

import type { Core } from './core.js';
import { withContext } from './routing/context.js';
import type { RoutingContext } from './routing/context.js';
import { bounded } from './bounded.js';
import { sendCall } from './routing/probe.js';
import type { ProbeOptions } from './routing/probe.js';
import type { Ticket } from './ticket.js';
import type { Pool, Provider } from './topology.js';
import type { RoutingParams, RpcRequest } from './types.js';

/** Time for a strategy object to choose, as a share of the deadline, and if none is given. */
const CHOICE_SHARE = 0.25;
const CHOICE_MS = 2500;
/** Every node of an EVM chain answers it, and quickly. */
const PROBE: RpcRequest = { method: 'eth_chainId' };

/** Lets the strategy object of a request choose, not for ever; without a usable choice the engine's ranking stands. */
export async function choose({ core, route, engine, handle }: Ticket, signal: AbortSignal | undefined): Promise<void> {
  const { chooser, pool, method, deadlineMs = pool.deadlineMs } = route;
  if (chooser === undefined) return;
  const gateways = (pool.gateways ??= pool.providers.map((provider) => new URL(provider.url)));
  const context = new PoolContext(core, pool, gateways, method);
  const controller = new AbortController();
  const forget = core.whenAborted(signal, () => controller.abort(signal?.reason));
  const params: RoutingParams = { gateways: [...gateways], signal: controller.signal };
  const patience = deadlineMs === undefined ? CHOICE_MS : deadlineMs * CHOICE_SHARE;
  try {
    const chosen = await bounded(patience, controller.signal, async () => chooser.selectGateway(withContext(params, context)));
    const provider = context.provider(chosen);
    if (provider !== undefined) engine.prefer(core.now(), handle, provider.place);
  } catch {
    // The strategy has no choice, or none in time.
  } finally {
    forget();
  }
}

/** Lets strategies know the providers of a pool by their URLs. */
class PoolContext implements RoutingContext {
  constructor(
    readonly core: Core,
    readonly pool: Pool,
    readonly gateways: readonly URL[],
    readonly method: string,
  ) {}

  /** Providers may share a URL and differ in their headers: the object counts first. */
  provider(gateway: URL): Provider | undefined {
    const byIdentity = this.gateways.indexOf(gateway);
    const url = new URL(gateway);
    // Ours have theirs in a header.
    url.username = url.password = '';
    const at = byIdentity >= 0 ? byIdentity : this.gateways.findIndex(({ href }) => href === url.href);
    return this.pool.providers[at];
  }

  healthy(gateways: readonly URL[]): URL[] {
    return this.core.healthiest(this.#placed(gateways));
  }

  trusts(gateway: URL): boolean {
    const { core } = this;
    const place = this.provider(gateway)?.place;
    return place !== undefined && core.engine.isTrusted(core.now(), place);
  }

  pick(gateways: readonly URL[], strategy: number): URL | undefined {
    const { core, pool, method } = this;
    return core.first(this.#placed(gateways), pool, method, strategy);
  }

  lasting(): RoutingContext {
    return this;
  }

  async probe(gateway: URL, options: ProbeOptions, signal: AbortSignal): Promise<number> {
    const { core } = this;
    const provider = this.provider(gateway);
    // Only configured providers are ever asked: others would get to see what is asked of these.
    if (provider === undefined) throw new Error('The strategy probes a URL that is none of the providers.');
    const { url, headers, place } = provider;
    const request = options.probeRequest ?? PROBE;
    const ms = await sendCall((to, init) => core.fetch(to, init), url, headers, request, signal);
    core.tell((engine, now) => engine.note(now, place, core.method(request.method), ms, true));
    return ms;
  }

  #placed(gateways: readonly URL[]): Map<number, URL> {
    const placed = new Map<number, URL>();
    for (const gateway of gateways) {
      const place = this.provider(gateway)?.place;
      if (place !== undefined && !placed.has(place)) placed.set(place, gateway);
    }
    return placed;
  }
}

/** Blocks between the bounds of a log query, if both are numbers; else -1. */
export function spanOf(params: unknown): number {
  const filter: unknown = Array.isArray(params) ? params[0] : undefined;
  const { fromBlock, toBlock } = (filter ?? {}) as { fromBlock?: unknown; toBlock?: unknown };
  if (typeof fromBlock !== 'string' || typeof toBlock !== 'string') return -1;
  const span = Math.abs(Number(toBlock) - Number(fromBlock));
  return Number.isFinite(span) ? span : -1;
}
