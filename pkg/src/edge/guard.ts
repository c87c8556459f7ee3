/** Who may call, how often, and how much they may send. */

import { textOf } from '../bounded.js';
import { Refusal } from './failure.js';

/** Requests per second for each client. */
export interface ClientLimit {
  /** Requests per second, above 0. */
  rps: number;
  /** Requests at once after a rest, an integer from 1. Default: `rps`, rounded up. */
  burst?: number;
  /** Whose request it is. Default: the `CF-Connecting-IP` header. Where there is none, all clients share one bucket. */
  key?: (request: Request) => string;
}

/** Clients remembered; the one that called longest ago is forgotten first. */
const MOST_CLIENTS = 10_000;

/** Bytes that a body may declare to be read without counting. */
const SHORT = 65_536;

/** Types by which tools send JSON. `curl -d` says that it is a form. */
const TYPES = /^(?:application\/(?:[\w.+-]*\+)?json|application\/x-www-form-urlencoded|text\/plain)\s*(?:;|$)/i;

/** Refuses who does not know the token. */
export function checkToken(tokens: readonly string[], request: Request): void {
  if (tokens.length === 0) return;
  const given = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  if (tokens.some((token) => isSame(token, given))) return;
  throw new Refusal(401, -32600, 'Unauthorized: a bearer token is needed.', { 'www-authenticate': 'Bearer' });
}

/** Compares in a time that tells nothing of where two texts differ. */
function isSame(known: string, given: string): boolean {
  const [a, b] = [known, given].map((text) => new TextEncoder().encode(text));
  if (a === undefined || b === undefined) return false;
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at % (b.length || 1)] ?? 0);
  return difference === 0;
}

/** A bucket per client, as one instant each: the generic cell rate algorithm. */
export class Buckets {
  readonly #full = new Map<string, number>();

  constructor(
    readonly limit: ClientLimit,
    readonly now: () => number,
  ) {}

  /** Refuses who has no place left. */
  take(request: Request): void {
    const { rps, burst = Math.ceil(rps), key } = this.limit;
    const client = key === undefined ? (request.headers.get('cf-connecting-ip') ?? '') : key(request);
    const now = this.now();
    const due = Math.max(now, this.#full.get(client) ?? 0);
    const waitMs = due - now - ((burst - 1) * 1000) / rps;
    // To the end of those who are remembered, refused or not.
    this.#full.delete(client);
    this.#full.set(client, waitMs > 0 ? due : due + 1000 / rps);
    if (waitMs > 0) {
      const seconds = Math.max(1, Math.ceil(waitMs / 1000));
      throw new Refusal(429, -32005, `Too many requests: try again in ${seconds} s.`, { 'retry-after': String(seconds) }, { retry_after_ms: Math.ceil(waitMs) });
    }
    const oldest = this.#full.keys().next().value;
    if (this.#full.size > MOST_CLIENTS && oldest !== undefined) this.#full.delete(oldest);
  }
}

/** The text of a body; refuses what is no JSON by its headers, and what is too long while it arrives. */
export async function readBody(request: Request, most: number): Promise<string> {
  const type = request.headers.get('content-type');
  if (type !== null && !TYPES.test(type)) throw new Refusal(415, -32600, 'Unsupported media type: send application/json.');
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new Refusal(415, -32600, 'Unsupported content encoding: send the body as it is.');
  const tooLarge = (): Refusal => new Refusal(413, -32600, `Request too large: the limit is ${most} bytes.`);
  if (Number(request.headers.get('content-length')) > most) throw tooLarge();
  if (!(Number(request.headers.get('content-length') ?? Infinity) <= SHORT)) return textOf(request, most, tooLarge);
  // The platform does it at once.
  const text = await request.text();
  if (text.length > most) throw tooLarge();
  return text;
}
