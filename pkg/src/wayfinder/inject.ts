/** Lending the client's list to strategies that have none. */

import type { GatewaysProvider } from '../gateways/types.js';

/** Members by which strategies hold others. */
interface Wrapper {
  routingStrategy?: unknown;
  fallbackStrategy?: unknown;
  getStrategies?: () => unknown;
  gatewaysProvider?: unknown;
}

/**
 * Gives a provider to every strategy that chooses from a list and has none. Never to one that wraps another:
 * its list would win over the inner strategy's own.
 */
export function injectProvider(strategy: unknown, provider: GatewaysProvider, depth = 0): void {
  if (typeof strategy !== 'object' || strategy === null || depth > 8) return;
  const { routingStrategy, fallbackStrategy, getStrategies } = strategy as Wrapper;
  const inner = [routingStrategy, fallbackStrategy, ...listOf(getStrategies?.call(strategy))].filter((each) => each !== undefined);
  for (const each of inner) injectProvider(each, provider, depth + 1);
  if (inner.length === 0 && 'gatewaysProvider' in strategy && strategy.gatewaysProvider === undefined) {
    // Without an exception for those that are frozen.
    Reflect.set(strategy, 'gatewaysProvider', provider);
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
