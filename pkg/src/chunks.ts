/** Reading bodies in large pieces where the platform lets us, and giving them on as they are asked for. */

/** What of a reader is used. */
export interface ChunkReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

const PIECE = 65_536;

/** A plain reader in Workers gives 4 KB at a time, each by a turn of the event loop; one with a buffer fills that. */
export function chunksOf(body: ReadableStream<Uint8Array>): ChunkReader {
  try {
    const reader = body.getReader({ mode: 'byob' });
    return { read: () => reader.read(new Uint8Array(PIECE)), cancel: (reason) => reader.cancel(reason) };
  } catch {
    // It is no stream of bytes, such as one that user code has made.
    return body.getReader();
  }
}

/** A body whose pieces `next` brings until there is none; nothing is read ahead of whoever reads. */
export function bodyOf(
  next: () => Promise<Uint8Array | undefined>,
  cancel: (reason: unknown) => Promise<unknown> | void,
): ReadableStream<Uint8Array> {
  const source = {
    async pull(sink: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      const piece = await next();
      if (piece === undefined) sink.close();
      else sink.enqueue(piece);
    },
    async cancel(reason: unknown): Promise<void> {
      await cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
