/** How a request was routed, in Lasso's words. */

import type { RoutingMeta } from '../types.js';

/** Longer headers are dropped by proxies, or drop the answer. */
const LONGEST_HEADER = 4096;

/** The metadata as it goes into a header or a body. */
export function lassoMeta(meta: RoutingMeta): object {
  const { selected_provider: selected, end_to_end_latency_ms: total, upstream_latency_ms: upstream, circuit_breaker_state: circuit } = meta;
  return {
    version: '1.0',
    ...meta,
    candidate_providers: meta.candidate_providers.map((id) => `${id}:http`),
    ...(selected && { selected_provider: { ...selected, protocol: 'http' } }),
    ...(circuit && { circuit_breaker_state: circuit.replace('-', '_') }),
    lasso_overhead_ms: Math.max(0, total - upstream),
  };
}

/** The headers of the metadata. */
export function metaHeaders(meta: RoutingMeta): Record<string, string> {
  const bytes = new TextEncoder().encode(JSON.stringify(lassoMeta(meta)));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  const encoded = text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  return { 'x-lasso-request-id': meta.request_id, ...(encoded.length <= LONGEST_HEADER && { 'x-lasso-meta': encoded }) };
}
