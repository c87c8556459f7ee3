/** Says in a sentence why a provider stands where it stands. */

import type { Explanation } from './types.js';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export function explainText(row: Omit<Explanation, 'text'>): string {
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
