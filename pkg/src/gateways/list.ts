/** Lists of gateways: what a good one is, and how one is made from text of others. */

import { WaypostError } from '../errors.js';

/** More is absurd: the network has a few hundred. */
export const MOST_GATEWAYS = 5_000;

/** Whether it is a list with something in it. */
export function isFilled(list: unknown): list is URL[] {
  return Array.isArray(list) && list.length > 0;
}

/** The URL of a gateway that `fetch` can ask, the same object if it is one, or `undefined`. */
export function toGateway(given: unknown): URL | undefined {
  try {
    const url = typeof given === 'string' ? new URL(given) : (given as URL);
    return typeof url.origin === 'string' && /^https?:$/.test(url.protocol) && url.username + url.password === '' ? url : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The URL of a gateway that a user has named.
 *
 * @throws TypeError `Invalid URL`
 * @throws WaypostError it has credentials: `fetch` would refuse it, and errors would show them
 */
export function gatewayOf(className: string, gateway: string | URL): URL {
  const url = gateway instanceof URL ? gateway : new URL(gateway);
  if (url.username + url.password !== '') {
    throw new WaypostError('invalid_option', `${className}: the URL of ${url.host} has credentials, which fetch refuses.`);
  }
  return url;
}

/** The first `most` gateways that differ in origin. */
export function distinct(urls: Iterable<URL | undefined>, most: number): URL[] {
  const byOrigin = new Map<string, URL>();
  for (const url of urls) {
    if (byOrigin.size >= most) break;
    if (url !== undefined && !byOrigin.has(url.origin)) byOrigin.set(url.origin, url);
  }
  return [...byOrigin.values()];
}
