/** Response objects of `send()`, and the metadata of a batch without members that could be sent. */

import type { Member } from './batch.js';
import type { WaypostError } from './errors.js';
import type { JsonRpcRequest, JsonRpcResponse, RequestOptions, RoutingMeta } from './types.js';

/** The response object of one member. */
export function envelope(request: JsonRpcRequest | undefined, member: Member | { error: WaypostError }): JsonRpcResponse {
  const given: unknown = (request as { id?: unknown } | null | undefined)?.id;
  const id = typeof given === 'string' || typeof given === 'number' ? given : null;
  const base = { jsonrpc: '2.0', id } as const;
  if ('error' in member) {
    const isMalformed = typeof request?.method !== 'string';
    return { ...base, error: { code: isMalformed ? -32600 : member.error.code, message: member.error.message } };
  }
  const { ending } = member;
  if (ending?.kind === 'result') return { ...base, result: ending.result };
  if (ending?.kind === 'error') return { ...base, error: ending.error };
  const failure = ending?.kind === 'failed' ? ending.failure : undefined;
  return { ...base, error: { code: failure?.code ?? -32603, message: failure?.message ?? '', data: failure?.toData() } };
}

/** Metadata where nothing was routed. */
export function emptyMeta(options: RequestOptions): RoutingMeta {
  return {
    request_id: '',
    strategy: typeof options.strategy === 'string' ? options.strategy : 'load_balanced',
    chain: String(options.chain ?? ''),
    profile: options.profile ?? 'default',
    transport: 'http',
    upstream_latency_ms: 0,
    end_to_end_latency_ms: 0,
    retries: 0,
    candidate_providers: [],
    attempts: [],
  };
}
