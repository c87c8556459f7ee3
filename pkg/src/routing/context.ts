/** What a strategy may know when a client of ours asks it: whom the engine holds to be healthy, and how to probe. */

import { toGateway } from '../gateways/list.js';
import type { GatewaysProvider } from '../gateways/types.js';
import type { RoutingParams } from '../types.js';
import type { ProbeOptions } from './probe.js';

/** Offered by a client to the strategies that choose for it. */
export interface RoutingContext {
  /** The healthiest of these that may still be asked for this request. */
  healthy(gateways: readonly URL[]): URL[];
  /** Whether a choice that was good once still is: healthy, and its last answer was good. */
  trusts(gateway: URL): boolean;
  /** The one that the engine ranks first by the strategy with that number. */
  pick(gateways: readonly URL[], strategy: number): URL | undefined;
  /** The same for a choice that others share: it goes on when this request has ended. */
  lasting(): RoutingContext;
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
  return admissible(params, urlsOf(params.gateways ?? (await provider?.getGateways())));
}

/** Those that may be asked now. */
export function admissible(params: RoutingParams, gateways: readonly URL[]): URL[] {
  const context = contextOf(params);
  const { exclude } = params;
  if (exclude === undefined) return context?.healthy(gateways) ?? [...gateways];
  const excluded = new Set(exclude.map(String));
  const left = gateways.filter((gateway) => !excluded.has(String(gateway)));
  return context?.healthy(left) ?? left;
}

/** A list as other people's code may give it: what is a URL stays, text becomes one, the rest is left out. */
export function urlsOf(list: unknown): URL[] {
  const isList = typeof list === 'object' && list !== null && Symbol.iterator in list;
  return isList ? [...(list as Iterable<unknown>)].flatMap((each) => toGateway(each) ?? []) : [];
}
