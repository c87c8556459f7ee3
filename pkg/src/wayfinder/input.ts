/** What callers give to `request()`: an address, or a `Request`, and what to do with it. */

import type { WayfinderRequestInit } from './types.js';

type RequestKey = 'method' | 'headers' | 'body' | 'redirect' | 'credentials' | 'cache' | 'integrity' | 'keepalive' | 'referrerPolicy' | 'signal';

const KEYS: readonly RequestKey[] = [
  'method', 'headers', 'body', 'redirect', 'credentials', 'cache', 'integrity', 'keepalive', 'referrerPolicy', 'signal',
];

/** The address, what `fetch` is to be told, and what is for us. */
export function splitRequest(
  input: URL | RequestInfo,
  init: WayfinderRequestInit,
): { originalUrl: string; request: RequestInit; own: WayfinderRequestInit } {
  const { routingSettings, verificationSettings, ...request } = init;
  const own: WayfinderRequestInit = {};
  if (routingSettings !== undefined) own.routingSettings = routingSettings;
  if (verificationSettings !== undefined) own.verificationSettings = verificationSettings;
  if (typeof input === 'string' || input instanceof URL) return { originalUrl: String(input), request, own };
  const given: Record<string, unknown> = {};
  for (const key of KEYS) {
    const value = input[key];
    // Not every platform has all of them, and some refuse those they have not.
    if (value !== undefined && value !== null && value !== '') given[key] = value;
  }
  if (given['body'] !== undefined) given['duplex'] = 'half';
  return { originalUrl: input.url, request: { ...given, ...request }, own };
}
