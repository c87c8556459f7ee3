/** Letting pages of other origins call, and read how it was routed. */

/** Who may call: everybody (default), nobody, or these origins. */
export type CorsOption = boolean | string | readonly string[];

const ALLOWED_HEADERS = 'content-type, authorization, x-lasso-provider, x-lasso-strategy, x-lasso-transport, x-lasso-include-meta';
const EXPOSED_HEADERS = 'X-Lasso-Request-ID, X-Lasso-Meta, Retry-After';
/** A day. */
const MAX_AGE = '86400';

/** Headers for the answer to a request. */
export function corsHeaders(option: CorsOption, request: Request): Record<string, string> {
  if (option === false) return {};
  const origin = request.headers.get('origin');
  const isOpen = option === true || option === '*';
  const known: readonly string[] = isOpen ? [] : [option].flat().map(String);
  if (!isOpen && (origin === null || !known.includes(origin))) return { vary: 'Origin' };
  return {
    'access-control-allow-origin': isOpen ? '*' : (origin ?? ''),
    'access-control-expose-headers': EXPOSED_HEADERS,
    ...(!isOpen && { vary: 'Origin' }),
  };
}

/** The answer to a preflight. */
export function preflight(option: CorsOption, request: Request): Response {
  const headers = new Headers(corsHeaders(option, request));
  if (headers.has('access-control-allow-origin')) {
    headers.set('access-control-allow-methods', 'GET, HEAD, POST, OPTIONS');
    headers.set('access-control-allow-headers', ALLOWED_HEADERS);
    headers.set('access-control-max-age', MAX_AGE);
  }
  return new Response(null, { status: 204, headers });
}
