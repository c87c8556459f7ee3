/** From endings to the bytes of an answer. */

import { limited } from '../bounded.js';
import { redact } from '../reply.js';
import type { Provider } from '../topology.js';
import { isOurs } from './errand.js';
import type { Streamed } from './errand.js';

/** A response object: its text, or a stream of its bytes. */
export type Part = string | ReadableStream<Uint8Array>;

const encoder = new TextEncoder();

/** A response object with a result. */
export function resultPart(id: string, result: string, extra: string): Part {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}${extra}}`;
}

/** A response object with an error; what it repeats of its provider's URL and headers is taken out. */
export function errorPart(id: string, error: object, extra = '', provider?: Provider): Part {
  const text = JSON.stringify(error);
  const clean = provider === undefined ? text : redact(text, provider).replaceAll(new URL(provider.url).host, '***');
  return `{"jsonrpc":"2.0","id":${id},"error":${clean}${extra}}`;
}

/**
 * A response object around a result that is still arriving. What goes wrong from here on ends the stream with an
 * error, so that nobody takes a part for the whole.
 *
 * @param idleMs longest silence while somebody reads
 */
export function streamedPart(
  id: string,
  streamed: Streamed,
  extra: string,
  idleMs: number,
  ended: (isWhole: boolean) => void,
): ReadableStream<Uint8Array> {
  const { scanner, parts, reader, controller, provider } = streamed;
  let isOver = false;
  const end = (isWhole: boolean): void => {
    if (!isOver) ended(isWhole);
    isOver = true;
  };
  const queue = [encoder.encode(`{"jsonrpc":"2.0","id":${id},"result":`), ...parts];
  const fail = (what: string): Error => new Error(`The answer of ${provider.id} ${what} in the middle. Ask again.`);
  const next = async (): Promise<Uint8Array | undefined> => {
    // The cause may show the provider's URL.
    const { done, value } = await limited(reader.read(), idleMs, undefined).catch(() => {
      throw fail('broke off');
    });
    if (!done && value !== undefined) {
      const bytes = scanner.push(value);
      if (isOurs(scanner, streamed.id)) return bytes;
    }
    if (!done || !scanner.isComplete || scanner.id === undefined) throw fail('turned out not to be one');
    return undefined;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(sink) {
        const ready = queue.shift();
        if (ready !== undefined) return sink.enqueue(ready);
        try {
          // Bytes that are not of the result are none for the reader, who would wait for them.
          for (let bytes = await next(); bytes !== undefined; bytes = await next()) {
            if (bytes.length > 0) return sink.enqueue(bytes);
          }
          sink.enqueue(encoder.encode(`${extra}}`));
          sink.close();
          end(true);
        } catch (error) {
          sink.error(error);
          controller.abort();
          end(false);
        }
      },
      cancel(reason) {
        isOver = true;
        controller.abort(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The body of a batch: text if all parts are, else a stream that takes one part after the other. */
export function batchBody(parts: readonly Part[]): string | ReadableStream<Uint8Array> {
  const texts = parts.filter((part): part is string => typeof part === 'string');
  if (texts.length === parts.length) return `[${texts.join(',')}]`;
  const pieces: Part[] = parts.flatMap((part, index) => [index === 0 ? '[' : ',', part]);
  return joined([...pieces, ']']);
}

function joined(pieces: Part[]): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(sink) {
        for (;;) {
          if (reader !== undefined) {
            const { done, value } = await reader.read();
            if (!done) return sink.enqueue(value);
            reader = undefined;
          }
          const piece = pieces.shift();
          if (piece === undefined) return sink.close();
          if (typeof piece === 'string') return sink.enqueue(encoder.encode(piece));
          reader = piece.getReader();
        }
      },
      async cancel(reason) {
        const open = pieces.filter((piece): piece is ReadableStream<Uint8Array> => typeof piece !== 'string');
        await Promise.all([reader?.cancel(reason), ...open.map((piece) => piece.cancel(reason))]);
      },
    },
    { highWaterMark: 0 },
  );
}
