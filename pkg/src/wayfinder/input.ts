/** What callers give to `request()`: an address, or a `Request`, and what to do with it. */

import type { WayfinderRequestInit } from './types.js';

type RequestKey = 'method' | 'headers' | 'redirect' | 'credentials' | 'cache' | 'integrity' | 'keepalive' | 'referrerPolicy' | 'signal';

/** What a `Request` may say about the way, its body aside. */
const KEYS: readonly RequestKey[] = [
  'method',
  'headers',
  'redirect',
  'credentials',
  'cache',
  'integrity',
  'keepalive',
  'referrerPolicy',
  'signal',
];

const isRequest = (input: string | URL | Request): input is Request => typeof input === 'object' && 'url' in input;

/** The address, what `fetch` is to be told, and what is for us. */
export function splitRequest(
  input: string | URL | Request,
  init: WayfinderRequestInit,
): { originalUrl: string; request: RequestInit; own: WayfinderRequestInit } {
  const { routingSettings, verificationSettings, ...request } = init;
  const own = { ...(routingSettings !== undefined && { routingSettings }), ...(verificationSettings !== undefined && { verificationSettings }) };
  return { originalUrl: isRequest(input) ? input.url : String(input), request, own };
}

/**
 * What `fetch` is to be told about another address than that of the input.
 *
 * @throws TypeError what `fetch` itself would refuse, before anybody is asked
 */
export async function withInput(input: string | URL | Request, init: RequestInit): Promise<RequestInit> {
  const request = isRequest(input) ? { ...(await read(input)), ...init } : init;
  const { signal: _, body, ...rest } = request;
  const isStream = body instanceof ReadableStream;
  if (Object.keys(rest).length > 0 || body != null) new Request('http://localhost', isStream ? rest : { ...rest, body: body ?? null });
  return request;
}

async function read(input: Request): Promise<RequestInit> {
  const given: Record<string, unknown> = {};
  for (const key of KEYS) {
    const value = input[key];
    // Not every platform has all of them, and some refuse those they have not.
    if (value !== undefined && value !== null && value !== '') given[key] = value;
  }
  // As bytes: streams cannot be sent everywhere, and not every browser shows them here.
  const body = input.method === 'GET' || input.method === 'HEAD' ? undefined : await input.arrayBuffer();
  if (body !== undefined && body.byteLength > 0) given['body'] = body;
  return given;
}
