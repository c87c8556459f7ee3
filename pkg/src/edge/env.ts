import { refuse } from '../refusal.js';
import type { RoutingOptions } from '../types.js';

/** Lasso's names, and where their numbers belong. */
const NAMES = {
  FASTEST_MIN_CALLS: ['fastest', 'minCalls'],
  FASTEST_MIN_SUCCESS_RATE: ['fastest', 'minSuccessRate'],
  LW_BETA: ['latencyWeighted', 'beta'],
  LW_MS_FLOOR: ['latencyWeighted', 'msFloor'],
  LW_EXPLORE_FLOOR: ['latencyWeighted', 'exploreFloor'],
  LW_MIN_CALLS: ['latencyWeighted', 'minCalls'],
  LW_MIN_SR: ['latencyWeighted', 'minSuccessRate'],
} as const;

type Strategies = NonNullable<RoutingOptions['strategies']>;

/**
 * The options that Lasso takes from its environment: `FASTEST_MIN_CALLS`, `FASTEST_MIN_SUCCESS_RATE`, `LW_BETA`,
 * `LW_MS_FLOOR`, `LW_EXPLORE_FLOOR`, `LW_MIN_CALLS` and `LW_MIN_SR`.
 *
 * @param env bindings of a Worker; `process.env` by default, where there is one
 * @throws WaypostError a variable is no number; its name is in the message
 *
 * @example
 * const handler = createRpcHandler((env) => createRpcClient({ chains, strategies: strategiesFromEnv(env) }));
 */
export function strategiesFromEnv(env?: unknown): Strategies {
  const process = (globalThis as { process?: { env?: unknown } }).process;
  const variables = (env ?? process?.env ?? {}) as Record<string, unknown>;
  const strategies: Record<string, Record<string, number>> = {};
  for (const [name, [strategy, key]] of Object.entries(NAMES)) {
    const value = variables[name];
    if (value === undefined || value === '') continue;
    const number = Number(value);
    if (!Number.isFinite(number)) refuse(`The variable ${name}`, 'a number', value);
    (strategies[strategy] ??= {})[key] = number;
  }
  return strategies;
}
