/** Gives the engine's tables of numbers their words. The columns are those of `src/js/report.rs`. */

import type { Core } from './core.js';
import { circuitName } from './engine.js';
import type { ClientStatus, Explanation, ExplanationReason, MethodStatus, ProviderStatus } from './types.js';

const REASONS = 'circuit_open on_trial trial_due rate_limited resting unsupported unproven healthy'.split(' ') as ExplanationReason[];
const EXPLANATION =
  'place rank tier reason circuit reopensInMs limitedForMs restingForMs latencyMs successRate calls qualified priority share'.split(' ');
const STATUS =
  'circuit reopensInMs consecutiveFailures limitedForMs restingForMs inFlight total latencyMs successRate calls head'.split(' ');
const METHOD = 'method latencyMs p95Ms successRate calls total lastUsedMsAgo'.split(' ');

/** The rows of a table, with the name of each column; NaN is what the engine does not know. */
function rows<Row>(table: Float64Array, columns: readonly string[]): Row[] {
  return Array.from({ length: table.length / columns.length }, (_, row) => {
    const cells = columns.map((column, at): [string, number | null] => {
      const number = table[row * columns.length + at] ?? NaN;
      return [column, Number.isNaN(number) ? null : number];
    });
    return Object.fromEntries(cells) as Row;
  });
}

/** A row of which some cells are still numbers that stand for words. */
type Raw<Row, Words extends string> = Omit<Row, Words> & Record<Words, number>;

export function readExplanations(core: Core, table: Float64Array): Explanation[] {
  type Row = Raw<Explanation, 'reason' | 'circuit' | 'qualified'> & { place: number };
  return rows<Row>(table, EXPLANATION).map(({ place, ...row }) => {
    const explanation = {
      ...row,
      provider: core.topology.providers[place]?.provider.id ?? '',
      reason: REASONS[row.reason] ?? 'healthy',
      circuit: circuitName(row.circuit),
      qualified: row.qualified === 1,
    };
    return { ...explanation, text: explainText(explanation) };
  });
}

/** Ids of the providers that may be asked, in the expected order. */
export function readCandidates(core: Core, table: Float64Array): string[] {
  return readExplanations(core, table).flatMap(({ provider, tier }) => (tier === null ? [] : [provider]));
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The reason in a sentence. */
function explainText(row: Omit<Explanation, 'text'>): string {
  const { reason, latencyMs, calls, successRate } = row;
  const measured = latencyMs === null ? 'not measured lately' : `${latencyMs.toFixed(0)} ms`;
  const record = `${calls} recent ${calls === 1 ? 'call' : 'calls'}, ${Math.round(successRate * 100)} % good`;
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
  const [status] = rows<Raw<ProviderStatus, 'circuit'>>(table.subarray(0, STATUS.length), STATUS);
  const methods = rows<Raw<MethodStatus, 'method'>>(table.subarray(STATUS.length), METHOD);
  if (status === undefined) throw new Error('The engine named an unknown provider.');
  return {
    ...status,
    id,
    circuit: circuitName(status.circuit),
    methods: methods.map((row) => ({ ...row, method: core.engine.methodName(row.method), transport: 'http' })),
  };
}
