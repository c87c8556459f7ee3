/** Gives the engine's tables of numbers their words. The columns are those of `src/js/report.rs`. */

import type { Core } from './core.js';
import { circuitName } from './engine.js';
import type { ClientStatus, Explanation, ExplanationReason, MethodStatus, ProviderStatus } from './types.js';

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

type Row = Omit<Raw<Explanation, 'reason' | 'circuit' | 'qualified'>, 'text'> & { place: number };

const idOf = (core: Core, place: number): string => core.topology.providers[place]?.provider.id ?? '';

export function readExplanations(core: Core, table: Float64Array): Explanation[] {
  return rows<Row>(table, EXPLANATION).map(({ place, ...row }) => {
    const [reason, textOf] = REASONS[row.reason] ?? ['healthy', recordOf];
    return {
      ...row,
      provider: idOf(core, place),
      reason,
      circuit: circuitName(row.circuit),
      qualified: row.qualified === 1,
      text: textOf(row),
    };
  });
}

/** Ids of the providers that may be asked, in the expected order. */
export function readCandidates(core: Core, table: Float64Array): string[] {
  return rows<Row>(table, EXPLANATION).flatMap(({ place, tier }) => (tier === null ? [] : [idOf(core, place)]));
}

const seconds = (ms: number): string => `another ${(ms / 1000).toFixed(1)} s`;

/** What has been measured, in words. */
function recordOf({ latencyMs, calls, successRate }: Facts): string {
  const measured = latencyMs === null ? 'not measured lately' : `${latencyMs.toFixed(0)} ms`;
  return `${measured}, ${calls} recent ${calls === 1 ? 'call' : 'calls'}, ${Math.round(successRate * 100)} % good.`;
}

type Facts = Pick<Explanation, 'latencyMs' | 'calls' | 'successRate' | 'reopensInMs' | 'limitedForMs' | 'restingForMs'>;

/** By the engine's numbers: the reason, and the same in a sentence. */
const REASONS: readonly (readonly [ExplanationReason, (row: Facts) => string])[] = [
  ['circuit_open', (row) => `Excluded: its breaker is open for ${seconds(row.reopensInMs)}.`],
  ['on_trial', () => 'Excluded: it is half-open and its one trial is under way.'],
  ['trial_due', () => 'Half-open: the next safe request tries it.'],
  ['rate_limited', (row) => `Asked last: rate-limited for ${seconds(row.limitedForMs)}.`],
  ['resting', (row) => `Asked last for ${seconds(row.restingForMs)}: it did not answer a moment ago.`],
  ['unsupported', () => 'Asked last: it does not serve this method.'],
  ['unproven', (row) => `Follows the proven ones: ${recordOf(row)}`],
  ['healthy', (row) => `Healthy: ${recordOf(row)}`],
];

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
