/** One HTTP exchange with one provider, and what came of it. */

import type { Core } from './core.js';
import { Loss } from './engine.js';
import type { Provider } from './topology.js';

/** What an answer says about time. */
export interface Stamps {
  retryAfter: string | undefined;
  date: string | undefined;
}

/** Why there is no answer. */
export interface Lost {
  kind: 'lost';
  how: Loss;
  /** What was thrown, if anything was. */
  error?: unknown;
}

/** What a provider answered. */
export interface Body extends Stamps {
  kind: 'body';
  status: number;
  text: string;
}

export type Reply = Body | Lost;

/** An exchange under way. */
export interface Exchange {
  /** Stops it; it then ends as {@link Loss.Abandoned}. */
  abandon(): void;
}

/** Codes by which Node, Bun and Deno say that the other end surely did not answer. */
const REFUSALS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'ConnectionRefused',
  'ConnectionClosed',
  'ConnectionReset',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Sends `body` to a provider and calls `done` exactly once: with the whole answer, or with why there is none. */
export function post(core: Core, provider: Provider, body: string, timeoutMs: number, done: (reply: Reply) => void): Exchange {
  const receive = async ({ signal }: AbortController, onHeaders: () => void): Promise<Body> => {
    const response = await core.fetch(provider.url, { method: 'POST', headers: provider.headers, body, signal });
    onHeaders();
    const text = await response.text();
    return { kind: 'body', status: response.status, text, ...stampsOf(response) };
  };
  return exchange(core, timeoutMs, receive, done);
}

/** The headers that tell when to come back. */
export function stampsOf({ headers }: Response): Stamps {
  return { retryAfter: headers.get('retry-after') ?? undefined, date: headers.get('date') ?? undefined };
}

/**
 * Calls `receive` with a controller of its own, and `done` exactly once: with what that resolves to, or with why
 * it does not. The timer is ours, so that a `fetch` that ignores its signal cannot keep a request waiting.
 */
export function exchange<R>(
  core: Core,
  timeoutMs: number,
  receive: (controller: AbortController, onHeaders: () => void) => Promise<R>,
  done: (reply: R | Lost) => void,
): Exchange {
  const controller = new AbortController();
  let isDone = false;
  const finish = (reply: R | Lost): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(reply);
  };
  const lose = (how: Loss, error?: unknown): void => {
    const wasDone = isDone;
    finish({ kind: 'lost', how, error });
    if (!wasDone) controller.abort();
  };
  // A busy or frozen page fires its timers late, and before it looks at what has arrived: so look once more.
  let timer = core.later(timeoutMs, () => {
    timer = setTimeout(() => lose(Loss.Timeout));
  });
  let hasHeaders = false;
  receive(controller, () => {
    hasHeaders = true;
  }).then(finish, (error: unknown) => lose(lossOf(error, hasHeaders), error));
  return { abandon: () => lose(Loss.Abandoned) };
}

/** Texts of such errors differ between all browsers and say nothing reliable: only codes count. */
function lossOf(error: unknown, hasHeaders: boolean): Loss {
  if (globalThis.navigator?.onLine === false) return Loss.Offline;
  const { code, cause } = Object(error) as { code?: unknown; cause?: { code?: unknown } };
  const isCertain = hasHeaders || REFUSALS.has(String(code)) || REFUSALS.has(String(cause?.code));
  return isCertain ? Loss.Refused : Loss.Silence;
}
