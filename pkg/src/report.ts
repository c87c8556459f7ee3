/** Gives the engine's tables of numbers their words. The columns are those of `src/js/report.rs`. */

import type { Core } from './core.js';
import { circuitName } from './engine.js';
import type { ClientStatus, Explanation, ExplanationReason, MethodStatus, ProviderStatus } from './types.js';

const REASONS: readonly ExplanationReason[] = [
  'circuit_open',
  'on_trial',
  'trial_due',
  'rate_limited',
  'resting',
  'unsupported',
  'unproven',
  'healthy',
];
const EXPLANATION_COLUMNS = 14;
const STATUS_COLUMNS = 11;
const METHOD_COLUMNS = 7;

/** A number that the engine has; NaN is what it has not. */
const orNull = (number: number): number | null => (Number.isNaN(number) ? null : number);

/** The rows of a table. */
function rows(table: Float64Array, columns: number): number[][] {
  return Array.from({ length: table.length / columns }, (_, row) => [...table.subarray(row * columns, (row + 1) * columns)]);
}

export function readExplanations(core: Core, table: Float64Array): Explanation[] {
  return rows(table, EXPLANATION_COLUMNS).map((row) => {
    const [place = 0, rank = NaN, tier = NaN, reason = 0, circuit = 0, ...rest] = row;
    const [reopensInMs = 0, limitedForMs = 0, restingForMs = 0, latency = NaN, successRate = 0, ...last] = rest;
    const [calls = 0, qualified = 0, priority = 0, share = 0] = last;
    const explanation = {
      provider: core.topology.providers[place]?.provider.id ?? '',
      rank: orNull(rank),
      tier: orNull(tier),
      reason: REASONS[reason] ?? 'healthy',
      circuit: circuitName(circuit),
      reopensInMs,
      limitedForMs,
      restingForMs,
      latencyMs: orNull(latency),
      successRate,
      calls,
      qualified: qualified === 1,
      priority,
      share,
    };
    return { ...explanation, text: explainText(explanation) };
  });
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The reason in a sentence. */
function explainText(row: Omit<Explanation, 'text'>): string {
  const { reason, latencyMs, calls, successRate } = row;
  const measured = latencyMs === null ? 'not measured lately' : `${latencyMs.toFixed(0)} ms`;
  const record = `${calls} recent calls, ${Math.round(successRate * 100)} % good`;
  switch (reason) {
    case 'circuit_open':
      return `Excluded: its breaker is open for another ${seconds(row.reopensInMs)}.`;
    case 'on_trial':
      return 'Excluded: it is half-open and its one trial is under way.';
    case 'trial_due':
      return 'Half-open: the next safe request tries it.';
    case 'rate_limited':
      return `Asked last: rate-limited for another ${seconds(row.limitedForMs)}.`;
    case 'resting':
      return `Asked last for another ${seconds(row.restingForMs)}: it did not answer a moment ago.`;
    case 'unsupported':
      return 'Asked last: it does not serve this method.';
    case 'unproven':
      return `Follows the proven ones: ${measured}, ${record}.`;
    case 'healthy':
      return `Healthy: ${measured}, ${record}.`;
  }
}

export function readStatus(core: Core): ClientStatus {
  const profiles: ClientStatus['profiles'] = {};
  for (const [profile, pools] of core.topology.profiles) {
    profiles[profile] = Object.fromEntries(
      pools.map(({ chain, chainId, providers }) => {
        const statuses = providers.map(({ id, place }) => readProvider(core, id, core.engine.status(core.now(), place)));
        return [chain, chainId === undefined ? { providers: statuses } : { chainId, providers: statuses }];
      }),
    );
  }
  return { profiles, openRequests: core.engine.openRequests };
}

function readProvider(core: Core, id: string, table: Float64Array): ProviderStatus {
  const [circuit = 0, reopensInMs = 0, consecutiveFailures = 0, limitedForMs = 0, restingForMs = 0, ...rest] = table;
  const [inFlight = 0, total = 0, latency = NaN, successRate = 0, calls = 0, head = NaN] = rest;
  return {
    id,
    circuit: circuitName(circuit),
    reopensInMs,
    consecutiveFailures,
    limitedForMs,
    restingForMs,
    inFlight,
    total,
    latencyMs: orNull(latency),
    successRate,
    calls,
    head: orNull(head),
    methods: rows(table.subarray(STATUS_COLUMNS), METHOD_COLUMNS).map((row) => readMethod(core, row)),
  };
}

function readMethod(core: Core, row: number[]): MethodStatus {
  const [method = 0, latency = NaN, p95 = NaN, successRate = 0, calls = 0, total = 0, lastUsed = NaN] = row;
  return {
    method: core.engine.methodName(method),
    transport: 'http',
    latencyMs: orNull(latency),
    p95Ms: orNull(p95),
    successRate,
    calls,
    total,
    lastUsedMsAgo: orNull(lastUsed),
  };
}
