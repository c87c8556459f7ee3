/** What the path, the query and the headers of a request ask for: in this order of weight. */

import { strategyNumber } from '../engine.js';
import { Refusal } from './failure.js';

/** What a request says about its way. Nothing of it can name a host. */
export interface Wish {
  profile?: string;
  chain?: string;
  strategy?: string;
  provider?: string;
  meta?: 'headers' | 'body';
}

/** Words that a path cannot use for a chain. */
const RESERVED = ['provider', 'profile', 'adaptive'];

/** Whether a word means something else than a chain in `/rpc/:first/:second`. */
export function isReserved(word: string): boolean {
  return RESERVED.includes(word) || strategyNumber(word) !== undefined;
}

/** Reads a request for a call; `undefined` if its path is none for calls. */
export function readWish(url: URL, headers: Headers): Wish | undefined {
  const path = readPath(url.pathname);
  if (path === undefined) return undefined;
  const query = url.searchParams;
  const transport = query.get('transport') || headers.get('x-lasso-transport');
  if (transport === 'ws') throw new Refusal(400, -32602, 'The transport "ws" is not available. There is: "http".');
  // An empty value says nothing.
  const strategy = path.strategy || query.get('strategy') || headers.get('x-lasso-strategy');
  const asked = query.get('provider') || query.get('provider_override') || query.get('provider_id');
  const provider = path.provider || asked || headers.get('x-lasso-provider');
  const meta = metaOf(query.get('include_meta')) ?? metaOf(headers.get('x-lasso-include-meta'));
  return { ...path, ...(strategy && { strategy }), ...(provider && { provider }), ...(meta && { meta }) };
}

/** Unknown words are passed over. */
function metaOf(word: string | null): 'headers' | 'body' | undefined {
  return word === 'headers' || word === 'body' ? word : undefined;
}

function readPath(pathname: string): Wish | undefined {
  const [root, ...rest] = pathname.replace(/^\//, '').replace(/\/$/, '').split('/').map(decoded);
  if (root !== 'rpc') return undefined;
  const [first, profile, ...scoped] = rest;
  if (first !== 'profile') return readTail(rest);
  const tail = readTail(scoped);
  return tail && profile !== undefined ? { ...tail, profile } : tail;
}

/** What follows `/rpc` or the profile. Without a chain the error that lists them comes later. */
function readTail(parts: string[]): Wish | undefined {
  const [first, second, third] = parts;
  if (first === undefined) return {};
  if (first === 'provider') {
    if (parts.length > 3) return undefined;
    return { ...(second !== undefined && { provider: second }), ...(third !== undefined && { chain: third }) };
  }
  if (parts.length > 2) return undefined;
  if (second === undefined) return { chain: first };
  return isReserved(first) ? { strategy: first, chain: second } : { chain: first, provider: second };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal(400, -32602, 'The path has an invalid % sequence.');
  }
}
