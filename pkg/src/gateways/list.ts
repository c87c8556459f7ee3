/** Lists of gateways: what a good one is, and how one is made from text of others. */

/** More is absurd: the network has a few hundred. */
export const MOST_GATEWAYS = 5_000;

/** Whether it is a list with something in it. */
export function isFilled(list: unknown): list is URL[] {
  return Array.isArray(list) && list.length > 0;
}

/** The URL of a gateway that `fetch` can ask, or `undefined`. */
export function toGateway(text: unknown): URL | undefined {
  try {
    const url = new URL(String(text));
    return /^https?:$/.test(url.protocol) && url.username + url.password === '' ? url : undefined;
  } catch {
    return undefined;
  }
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
