/** What can be asked about the handler itself. Nothing of it holds a URL or a header of a provider. */

import type { Core } from '../core.js';
import { readStatus } from '../report.js';
import { findPool, unknown } from '../topology.js';
import type { Pool } from '../topology.js';
import { UnknownProfile } from './failure.js';

/** Answers `/api/…`, with an `error` if there is no such chain; `undefined` for other paths. */
export function readInfo(core: Core, url: URL, started: number, version: string): object | undefined {
  const [root, what, chain, ...rest] = url.pathname.replace(/^\//, '').replace(/\/$/, '').split('/');
  if (root !== 'api' || rest.length > 0) return undefined;
  if (what === 'health' && chain === undefined) return health(started, version);
  if (what === 'chains' && chain === undefined) return { chains: poolsOf(core, url).map(describeChain) };
  if (what === 'metrics' && chain !== undefined) return metrics(core, url, chain);
  return undefined;
}

function health(started: number, version: string): object {
  const uptime = Math.max(0, Math.floor((Date.now() - started) / 1000));
  return { status: 'healthy', uptime_seconds: uptime, version, cluster: { enabled: false } };
}

/** The pools of the profile that is asked for. */
function poolsOf({ topology }: Core, url: URL): readonly Pool[] {
  const { profiles } = topology;
  const [first] = profiles.keys();
  const name = url.searchParams.get('profile') ?? (profiles.has('default') ? 'default' : (first ?? ''));
  const pools = profiles.get(name);
  if (pools === undefined) throw new UnknownProfile(unknown('profile', name, [...profiles.keys()]).message);
  return pools;
}

function describeChain({ chain, chainId, aliases }: Pool): object {
  return { chain_id: chainId ?? null, name: chain, chain_name: chain, aliases, supported: true };
}

function metrics(core: Core, url: URL, name: string): object {
  const pools = poolsOf(core, url);
  const profile = pools[0]?.profile ?? '';
  let pool: Pool;
  try {
    pool = findPool(core.topology, profile, decodeURIComponent(name));
  } catch {
    // As Lasso says it here: without JSON-RPC.
    const given = name.slice(0, 40);
    return { error: `Chain not found: ${given}`, chain: given, available_chains: pools.map(({ chain }) => chain) };
  }
  const providers = readStatus(core).profiles[profile]?.[pool.chain]?.providers ?? [];
  return {
    chain: pool.chain,
    chain_id: pool.chainId ?? null,
    profile,
    providers: providers.map(({ id, circuit, limitedForMs, latencyMs, successRate, calls, total, inFlight, methods }) => ({
      id,
      transport: 'http',
      circuit_breaker_state: circuit.replace('-', '_'),
      rate_limited: limitedForMs > 0,
      latency_ms: rounded(latencyMs),
      success_rate: calls === 0 ? null : successRate,
      calls,
      total_calls: total,
      in_flight: inFlight,
      methods: methods.map((each) => ({
        method: each.method,
        latency_ms: rounded(each.latencyMs),
        p95_ms: rounded(each.p95Ms),
        success_rate: each.calls === 0 ? null : each.successRate,
        calls: each.calls,
      })),
    })),
  };
}

/** Tenths of a millisecond are more than anybody can use. */
const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10);
