/** What the shell adds to the engine's choice: strategy objects of the user, and the span of a log query. */

import { NONE } from './engine.js';
import type { Pool } from './topology.js';
import type { RoutingStrategy } from './types.js';

/** Time for a strategy object to choose, as a share of the deadline, and if none is given. */
const CHOICE_SHARE = 0.25;
const CHOICE_MS = 2500;

/** Asks a strategy object, not for ever; without a usable choice the engine's own ranking stands. */
export async function choose(strategy: RoutingStrategy, pool: Pool, deadlineMs: number | undefined): Promise<number> {
  const gateways = (pool.gateways ??= pool.providers.map((provider) => new URL(provider.url)));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, deadlineMs === undefined ? CHOICE_MS : deadlineMs * CHOICE_SHARE);
  });
  try {
    const chosen = await Promise.race([strategy.selectGateway({ gateways: [...gateways] }), patience]);
    if (chosen === undefined) return NONE;
    const byIdentity = gateways.indexOf(chosen);
    const at = byIdentity >= 0 ? byIdentity : gateways.findIndex((url) => url.href === String(chosen));
    return pool.providers[at]?.place ?? NONE;
  } catch {
    return NONE;
  } finally {
    clearTimeout(timer);
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
