/** Reading bodies in large pieces where the platform lets us. */

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
