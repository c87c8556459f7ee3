/** One HTTP exchange with one provider, and what came of it. */

import type { Core } from './core.js';
import { Loss } from './engine.js';
import type { Provider } from './topology.js';

/** What the exchange brought. */
export type Reply =
  | { kind: 'body'; status: number; text: string; retryAfter: string | undefined; date: string | undefined }
  | { kind: 'lost'; how: Loss };

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

/**
 * Sends `body` and calls `done` exactly once: with the whole body, or with why there is none. The timer is
 * ours, so that a `fetch` that ignores its signal cannot keep a request waiting.
 */
export function exchange(
  core: Core,
  provider: Provider,
  body: string,
  timeoutMs: number,
  done: (reply: Reply) => void,
): Exchange {
  const controller = new AbortController();
  let isDone = false;
  const finish = (reply: Reply): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(reply);
  };
  const lose = (how: Loss): void => {
    const wasDone = isDone;
    finish({ kind: 'lost', how });
    if (!wasDone) controller.abort();
  };
  // A busy or frozen page fires its timers late, and before it looks at what has arrived: so look once more.
  let timer = core.later(timeoutMs, () => {
    timer = setTimeout(() => lose(Loss.Timeout));
  });
  let hasHeaders = false;
  const receive = async (): Promise<void> => {
    const request: RequestInit = { method: 'POST', headers: provider.headers, body, signal: controller.signal };
    // Looked up now, since pages replace it, and called without a `this`, which browsers insist on.
    const send = core.fetch ?? globalThis.fetch;
    const response = await send(provider.url, request);
    hasHeaders = true;
    const text = await response.text();
    const retryAfter = response.headers.get('retry-after') ?? undefined;
    const date = response.headers.get('date') ?? undefined;
    finish({ kind: 'body', status: response.status, text, retryAfter, date });
  };
  receive().catch((error: unknown) => lose(lossOf(error, hasHeaders)));
  return { abandon: () => lose(Loss.Abandoned) };
}

/** Texts of such errors differ between all browsers and say nothing reliable: only codes count. */
function lossOf(error: unknown, hasHeaders: boolean): Loss {
  if (globalThis.navigator?.onLine === false) return Loss.Offline;
  const { code, cause } = Object(error) as { code?: unknown; cause?: { code?: unknown } };
  const isCertain = hasHeaders || REFUSALS.has(String(code)) || REFUSALS.has(String(cause?.code));
  return isCertain ? Loss.Refused : Loss.Silence;
}
