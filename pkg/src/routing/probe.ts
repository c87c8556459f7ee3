/** Asking a gateway or provider whether it is there. */

import { bounded, textOf } from '../bounded.js';
import { anything, positive } from '../checks.js';
import type { RoutingParams, RpcRequest } from '../types.js';
import { probeUrl } from '../wayfinder/url.js';
import { contextOf } from './context.js';

/** How to probe. */
export interface ProbeOptions {
  /** Path on the gateway's own host that gets a HEAD request. */
  probePath: string;
  /** Time for a probe in milliseconds. */
  timeoutMs: number;
  /** A JSON-RPC call that is sent instead of HEAD. */
  probeRequest: RpcRequest | undefined;
}

/** What all strategies that probe take. */
export const probing = { gatewaysProvider: anything, timeoutMs: positive, probePath: anything, probeRequest: anything, logger: anything };

/** An answer to a probe is short. */
const MOST_ANSWER = 65_536;

/** Resolves to the milliseconds that a healthy answer took. */
export function probe(gateway: URL, options: ProbeOptions, params: RoutingParams, signal = params.signal): Promise<number> {
  const context = contextOf(params);
  return bounded(options.timeoutMs, signal, (inner) =>
    context === undefined ? sendProbe(fetchNow, gateway, options, inner) : context.probe(gateway, options, inner),
  );
}

type Send = (url: string, init: RequestInit) => Promise<Response>;

/** The global function as it is now: pages and tests replace it. */
const fetchNow: Send = (url, init) => globalThis.fetch(url, init);

/** Sends the probe itself: HEAD, or the JSON-RPC call if one is given. */
export async function sendProbe(send: Send, gateway: URL, options: ProbeOptions, signal: AbortSignal): Promise<number> {
  const { probePath, probeRequest } = options;
  if (probeRequest !== undefined) return sendCall(send, gateway.href, {}, probeRequest, signal);
  const started = performance.now();
  const response = await send(probeUrl(gateway, probePath).href, { method: 'HEAD', signal });
  const ms = performance.now() - started;
  void response.body?.cancel().catch(() => undefined);
  if (!response.ok) throw new Error(`The probe was answered with status ${response.status}.`);
  return ms;
}

/** Sends a JSON-RPC call; healthy is who answers it with a result. */
export async function sendCall(
  send: Send,
  url: string,
  headers: Record<string, string>,
  { method, params = [] }: RpcRequest,
  signal: AbortSignal,
): Promise<number> {
  const started = performance.now();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body, signal };
  const answer: unknown = JSON.parse(await textOf(await send(url, init), MOST_ANSWER));
  if (Object(answer).result === undefined) throw new Error(`The probe ${method} was answered without a result.`);
  return performance.now() - started;
}
