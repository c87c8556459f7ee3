/** From endings to the bytes of an answer. */

import { limited } from '../bounded.js';
import { bodyOf } from '../chunks.js';
import { redact } from '../reply.js';
import type { Provider } from '../topology.js';
import { isOurs } from './errand.js';
import type { Streamed } from './errand.js';

/** A response object: its text, or a stream of its bytes. */
export type Part = string | ReadableStream<Uint8Array>;

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

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
  const queue = [encoded(`{"jsonrpc":"2.0","id":${id},"result":`), ...parts];
  let isOver = false;
  const fail = (what: string): Error => new Error(`The answer of ${provider.id} ${what} in the middle. Ask again.`);
  const read = async (): Promise<Uint8Array> => {
    // The cause may show the provider's URL.
    const { done, value } = await limited(reader.read(), idleMs, undefined).catch(() => {
      throw fail('broke off');
    });
    if (!done && value !== undefined) {
      const bytes = scanner.push(value);
      if (isOurs(scanner, streamed.id)) return bytes;
    }
    if (!done || !scanner.isComplete || scanner.id === undefined) throw fail('turned out not to be one');
    isOver = true;
    ended(true);
    return encoded(`${extra}}`);
  };
  const next = async (): Promise<Uint8Array | undefined> => {
    let piece = queue.shift();
    try {
      // Bytes that are not of the result are none for the reader, who would wait for them.
      while (!isOver && !piece?.length) piece = await read();
      return piece;
    } catch (error) {
      controller.abort();
      if (!isOver) ended(false);
      throw error;
    }
  };
  return bodyOf(next, (reason) => {
    isOver = true;
    controller.abort(reason);
  });
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
  const next = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      const part = await reader?.read();
      if (part?.value !== undefined) return part.value;
      const piece = pieces.shift();
      reader = undefined;
      if (piece === undefined) return undefined;
      if (typeof piece === 'string') return encoded(piece);
      reader = piece.getReader();
    }
  };
  return bodyOf(next, (reason) => {
    const open = pieces.filter((piece): piece is ReadableStream<Uint8Array> => typeof piece !== 'string');
    return Promise.all([reader?.cancel(reason), ...open.map((piece) => piece.cancel(reason))]);
  });
}
