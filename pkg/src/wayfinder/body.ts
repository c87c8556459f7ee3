/** Bodies on their way to the caller: never silent for ever, and what becomes of them is learnt. */

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
  ended: (end: BodyEnd) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const onAbort = (): void => controller.abort(signal?.reason);
  const end = (how: BodyEnd): void => {
    signal?.removeEventListener('abort', onAbort);
    ended(how);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const read = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`The gateway ${gateway.host} sent nothing for ${idleMs} ms in the middle of its answer. Ask again.`));
        controller.abort();
      }, idleMs);
    });
    try {
      return await Promise.race([reader.read(), silence]);
    } finally {
      clearTimeout(timer);
    }
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(sink) {
        try {
          const { done, value } = await read();
          if (!done) return sink.enqueue(value);
          sink.close();
          end('whole');
        } catch (error) {
          sink.error(signal?.aborted === true ? signal.reason : error);
          end(signal?.aborted === true ? 'cancelled' : 'broken');
        }
      },
      async cancel(reason) {
        end('cancelled');
        controller.abort(reason);
        await reader.cancel(reason).catch(() => undefined);
      },
    },
    // Nothing is read ahead of the caller: a body that nobody reads is not silent.
    { highWaterMark: 0 },
  );
}

/** The arrived answer with another body, or as it is without one; and who gave it. */
export function answerOf(
  { response, gateway, url }: Arrival,
  body: ReadableStream<Uint8Array> | undefined,
  attempts: readonly AttemptRecord[],
): WayfinderResponse {
  const answer = body === undefined ? response : new Response(body, response);
  const given = { gateway, attempts, url: response.url === '' ? url.href : response.url, redirected: response.redirected };
  for (const [key, value] of Object.entries(given)) Object.defineProperty(answer, key, { value, enumerable: true, configurable: true });
  return answer;
}
