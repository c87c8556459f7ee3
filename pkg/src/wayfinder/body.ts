/** Bodies on their way to the caller: never silent for ever, and what becomes of them is learnt. */

import { limited } from '../bounded.js';
import { bodyOf, chunksOf } from '../chunks.js';
import type { AttemptRecord } from '../types.js';
import type { Arrival } from './errand.js';
import type { WayfinderResponse } from './types.js';

/** How a body ended: whole, broken by the gateway, or by the caller. */
export type BodyEnd = 'whole' | 'broken' | 'cancelled';

/** The same bytes. A gateway that sends nothing for `idleMs` while somebody reads ends the body with an error. */
export function watched(
  body: ReadableStream<Uint8Array>,
  { controller, gateway }: Arrival,
  idleMs: number,
  signal: AbortSignal | undefined,
  ended: (end: BodyEnd, error?: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = chunksOf(body);
  const onAbort = (): void => controller.abort(signal?.reason);
  let isOver = false;
  const end = (how: BodyEnd, error?: unknown): void => {
    if (isOver) return;
    isOver = true;
    signal?.removeEventListener('abort', onAbort);
    ended(how, error);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const silence = `The gateway ${gateway.host} sent nothing for ${idleMs} ms in the middle of its answer. Ask again.`;
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      const { done, value } = await limited(reader.read(), idleMs, undefined, () => controller.abort(), silence);
      if (!done) return value;
      end('whole');
      return undefined;
    } catch (error) {
      const isCallers = signal?.aborted === true;
      const reason: unknown = isCallers ? signal.reason : error;
      end(isCallers ? 'cancelled' : 'broken', reason);
      throw reason;
    }
  };
  // A body that nobody reads is not silent: it is not read ahead.
  return bodyOf(next, (reason) => {
    end('cancelled');
    controller.abort(reason);
    return reader.cancel(reason).catch(() => undefined);
  });
}

/** Ways to read a whole body. */
const READERS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const;

/** The arrived answer with another body, or as it is without one; and who gave it. */
export function answerOf(
  { response, gateway, url }: Arrival,
  body: ReadableStream<Uint8Array> | undefined,
  attempts: readonly AttemptRecord[],
  errorOf: () => unknown,
): WayfinderResponse {
  const answer = body === undefined ? response : new Response(body, response);
  const given = { gateway, attempts, url: response.url === '' ? url.href : response.url, redirected: response.redirected };
  for (const [key, value] of Object.entries(given)) Object.defineProperty(answer, key, { value, enumerable: true, configurable: true });
  for (const name of body === undefined ? [] : READERS) {
    const read = (answer as Partial<Response>)[name];
    if (read === undefined) continue;
    // Chromium hides the error of a stream behind one of its own.
    const value = (): Promise<unknown> =>
      read.call(answer).catch((error: unknown) => {
        throw errorOf() ?? error;
      });
    Object.defineProperty(answer, name, { value, configurable: true });
  }
  return answer;
}
