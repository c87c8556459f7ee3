/** What a strategy may know when a client of ours asks it: whom the engine holds to be healthy, and how to probe. */

import type { GatewaysProvider } from '../gateways/types.js';
import type { RoutingParams } from '../types.js';
import type { ProbeOptions } from './probe.js';

/** Offered by a client to the strategies that choose for it. */
export interface RoutingContext {
  /** The healthiest of these that may still be asked for this request. */
  healthy(gateways: readonly URL[]): URL[];
  /** The one that the engine ranks first by the strategy with that number. */
  pick(gateways: readonly URL[], strategy: number): URL | undefined;
  /** Resolves to the milliseconds that a healthy answer took; rejects otherwise. */
  probe(gateway: URL, options: ProbeOptions, signal: AbortSignal): Promise<number>;
}

/** Beside the parameters instead of in them: strategies of other people pass those on, compare and copy them. */
const contexts = new WeakMap<object, RoutingContext>();

/** The same parameters, with a context. */
export function withContext(params: RoutingParams, context: RoutingContext | undefined): RoutingParams {
  if (context !== undefined) contexts.set(params, context);
  return params;
}

/** The context of parameters; nothing inside a client that is not ours. */
export function contextOf(params: RoutingParams): RoutingContext | undefined {
  return contexts.get(params);
}

/** The given list, else the provider's, without those that should not be asked now. */
export async function candidates(params: RoutingParams, provider: GatewaysProvider | undefined): Promise<URL[]> {
  return admissible(params, params.gateways ?? (await provider?.getGateways()) ?? []);
}

/** Those that may be asked now. */
export function admissible(params: RoutingParams, gateways: readonly URL[]): URL[] {
  const excluded = new Set(params.exclude?.map(String));
  const left = gateways.filter((gateway) => !excluded.has(String(gateway)));
  return contextOf(params)?.healthy(left) ?? left;
}
