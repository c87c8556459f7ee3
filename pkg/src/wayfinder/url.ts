/** The rules of `ar://`: from what a caller gives to a place, and from a place to a URL on a gateway. */

/** An address by name or id. */
export type WayfinderURL = `ar://${string}`;

/** What to resolve: exactly one of them. */
export type WayfinderURLParams =
  /** An `ar://` address, or a URL of arweave.net or arweave.dev. */
  | { originalUrl: string | URL }
  | { wayfinderUrl: WayfinderURL | URL }
  /** 43 characters. */
  | { txId: string }
  | { arnsName: string };

/** Where something is on any gateway. */
export interface Target {
  /** What goes before the gateway's host name: a name, an id in base 32, or nothing. */
  subdomain: string;
  /** Starts with "/", and includes the query. */
  path: string;
  /** Starts with "#", or is empty. */
  hash: string;
  txId?: string;
  arnsName?: string;
}

const AR_URL = /^ar:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is;
const ID = /^[\w-]{43}$/;
/** 43 characters are always an id. */
const NAME = /^(?!.{43}$)[\w-]{1,51}$/;
/** 256 bits are 51 letters of five bits, and one bit. */
const SANDBOX = /^[a-z2-7]{51}[aq]$/;
const LEGACY_HOST = /^(?:([\w-]+)\.)?arweave\.(?:net|dev)\.?$/;
/** Whatever ends with a number is an IPv4 address, else `URL` would have refused it. */
const HOST_WITHOUT_SUBDOMAINS = /^localhost\.?$|(?:^|\.)\d+$|\]$/;

/** Whether a text is an `ar://` address. The scheme may be in upper case. */
export const isArUrl = (text: string): boolean => AR_URL.test(text);

/**
 * Reads an `ar://` address. What is neither an id nor a name stays a path of the gateway.
 *
 * @throws Error if the text does not start with `ar://`.
 */
export function parseArUrl(text: string): Target {
  const match = AR_URL.exec(text);
  if (match === null) throw new Error(`${JSON.stringify(text)} is no ar:// URL. Use ar://name/path or ar://id/path.`);
  const [, first = '', rest = '', search = '', hash = ''] = match;
  if (ID.test(first)) return { subdomain: recode(first, true), path: `/${first}${rest}${search}`, hash, txId: first };
  if (NAME.test(first)) {
    const arnsName = first.toLowerCase();
    return { subdomain: arnsName, path: (rest || '/') + search, hash, arnsName };
  }
  return { subdomain: '', path: (first === '' && rest !== '' ? rest : `/${first}${rest}`) + search, hash };
}

/**
 * The URL of a target on a gateway. Whatever the path holds, the host is the gateway's or a subdomain of it.
 * Hosts that have no subdomains (localhost, IP addresses) stay as they are.
 *
 * @throws Error if the subdomain cannot be part of a host name.
 */
export function gatewayUrl(gateway: URL, target: { subdomain: string; path: string; hash?: string }): URL {
  const { subdomain, path, hash = '' } = target;
  const url = new URL(gateway);
  if (!/^https?:$/.test(url.protocol)) throw new Error(`A gateway must have an http: or https: URL, not ${url.protocol}`);
  if (subdomain !== '' && !HOST_WITHOUT_SUBDOMAINS.test(url.hostname)) {
    const hostname = `${subdomain}.${url.hostname}`;
    url.hostname = hostname;
    // The setter ignores what it refuses, and the gateway's own page would be taken for the content.
    if (url.hostname !== hostname) throw new Error(`${JSON.stringify(subdomain)} is no valid host name. Check the ArNS name.`);
  }
  const [pathname = ''] = path.split('?', 1);
  url.pathname = pathname;
  if (pathname !== path) url.search = path.slice(pathname.length);
  url.hash = hash;
  return url;
}

/** Where to ask whether a gateway is alive: a path, with or without a query, of the gateway's own host. */
export function probeUrl(gateway: URL, probePath: string): URL {
  return gatewayUrl(new URL(gateway.origin), { subdomain: '', path: probePath });
}

/**
 * The `ar://` address of what a caller wants resolved.
 *
 * @throws Error if not exactly one thing is given, or if the URL is none of arweave.net or arweave.dev.
 */
export function createWayfinderUrl(params: WayfinderURLParams): string {
  const given = Object.entries(params ?? {}).filter(([, value]) => value != null);
  const [[key, value] = []] = given;
  if (given.length !== 1) {
    throw new Error('Invalid URL params, only one of the following is allowed: originalUrl, wayfinderUrl, txId, arnsName');
  }
  if (key === 'originalUrl') return fromOriginal(String(value));
  if (key === 'wayfinderUrl') return String(value);
  if (key === 'txId' || key === 'arnsName') return `ar://${value}`;
  throw new Error('Invalid URL params');
}

function fromOriginal(text: string): string {
  if (isArUrl(text)) return text;
  const url = parse(text);
  const match = LEGACY_HOST.exec(url?.hostname ?? '');
  if (url === undefined || match === null) throw new Error('Invalid URL');
  const [, name = 'www'] = match;
  const path = url.pathname + url.search + url.hash;
  const isSandbox = SANDBOX.test(name);
  // A sandbox usually repeats its id in the path.
  if (name === 'www' || (isSandbox && ID.test(url.pathname.split('/', 2)[1] ?? ''))) return `ar:/${path}`;
  if (!isSandbox && !NAME.test(name)) throw new Error('Invalid URL');
  return `ar://${isSandbox ? recode(name, false) : name}${path}`;
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Writes the 256 bits of an id for a host name, or back: most significant bit first, the last letter filled up with zeros. */
function recode(text: string, isForHost: boolean): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const alphabets = [`${letters}234567`, `${letters.toUpperCase()}${letters}0123456789-_`] as const;
  const [to, from] = isForHost ? alphabets : ([alphabets[1], alphabets[0]] as const);
  const bits = Array.from(text, (letter) => (from.length + from.indexOf(letter)).toString(2).slice(1)).join('').slice(0, 256);
  const size = Math.log2(to.length);
  let recoded = '';
  for (let at = 0; at < 256; at += size) recoded += to[parseInt(bits.slice(at, at + size).padEnd(size, '0'), 2)];
  return recoded;
}
