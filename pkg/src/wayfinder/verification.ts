/** Handing a body to the user's verification strategy while the caller reads it. */

import type { WayfinderEmitter } from './events.js';
import type { VerificationSettings, VerificationStrategy } from './types.js';
import { WaypostError } from '../errors.js';
import type { Target } from './url.js';

/** Refuses a wish for verification without a strategy. */
export function checkVerification({ enabled, strategy }: VerificationSettings): void {
  if (enabled === true && strategy === undefined) {
    throw new WaypostError(
      'invalid_option',
      'Verification of its own is not available yet: give verificationSettings.strategy, an object with verifyData().',
    );
  }
}

/** The id that a gateway says the data has, else the one that was asked for. */
function idOf(headers: Headers, target: Target): string {
  return headers.get('x-ar-io-data-id') ?? headers.get('x-arns-resolved-id') ?? target.txId ?? '';
}

/** The body for the caller; the strategy reads the same bytes. */
export function verified(
  body: ReadableStream<Uint8Array>,
  headers: Headers,
  target: Target,
  strategy: VerificationStrategy,
  { strict = false, raw = false }: VerificationSettings,
  emitter: WayfinderEmitter,
): ReadableStream<Uint8Array> {
  const txId = idOf(headers, target);
  const totalBytes = Number(headers.get('content-length') ?? 0);
  const [data, shown] = body.tee();
  const fail = (cause: unknown): Error => {
    const error = new Error('Verification failed', { cause });
    emitter.emit('verification-failed', error);
    return error;
  };
  const isRaw = raw || (target.arnsName === undefined && target.path.startsWith('/raw/'));
  const check = async (): Promise<void> => strategy.verifyData({ data, headers: Object.fromEntries(headers), txId, raw: isRaw });
  // Handled at once: a verdict may come long before the caller has read the body.
  const verdict = check().then(() => void emitter.emit('verification-succeeded', { txId }), fail);
  let processedBytes = 0;
  return shown.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, sink) {
        processedBytes += chunk.byteLength;
        emitter.emit('verification-progress', { txId, processedBytes, totalBytes });
        sink.enqueue(chunk);
      },
      async flush(sink) {
        const error = strict ? await verdict : undefined;
        if (error !== undefined) sink.error(error);
      },
    }),
  );
}
