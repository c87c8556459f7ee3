/** Handing a body to the user's verification strategy while the caller reads it. */

import { bounded } from '../bounded.js';
import { bodyOf } from '../chunks.js';
import type { WayfinderEmitter } from './events.js';
import type { VerificationSettings, VerificationStrategy } from './types.js';
import { WaypostError } from '../errors.js';
import type { Target } from './url.js';

/** Refuses a wish for verification without a strategy. */
export function checkVerification({ enabled, strategy }: VerificationSettings): void {
  if (enabled === true && strategy === undefined) {
    throw new WaypostError(
      'invalid_option',
      'Verification without a strategy is not available yet: give verificationSettings.strategy.',
    );
  }
}

/** The id that a gateway says the data has, else the one that was asked for. */
function idOf(headers: Headers, target: Target): string {
  return headers.get('x-ar-io-data-id') ?? headers.get('x-arns-resolved-id') ?? target.txId ?? '';
}

/**
 * The body for the caller; the strategy reads the same bytes. What one of them has not read yet is kept for it, so
 * a strategy that does not read costs memory until it has decided.
 *
 * @param patienceMs longest wait for the verdict after the last byte, if it is waited for
 * @param stop ends the download
 */
export function verified(
  body: ReadableStream<Uint8Array>,
  headers: Headers,
  target: Target,
  strategy: VerificationStrategy,
  { strict = false, raw = false }: VerificationSettings,
  emitter: WayfinderEmitter,
  patienceMs: number,
  stop: (reason: unknown) => void,
): ReadableStream<Uint8Array> {
  const txId = idOf(headers, target);
  const totalBytes = Number(headers.get('content-length')) || 0;
  const [data, shown] = body.tee();
  const reader = shown.getReader();
  const fail = (cause: unknown): Error => {
    const error = new Error('Verification failed', { cause });
    emitter.emit('verification-failed', error);
    return error;
  };
  const check = async (): Promise<void> => strategy.verifyData({ data, headers: Object.fromEntries(headers), txId, raw });
  // Handled at once: a verdict may come long before the caller has read the body.
  const verdict = check()
    .then(() => void emitter.emit('verification-succeeded', { txId }), fail)
    .finally(() => {
      // Nobody reads the rest.
      if (!data.locked) void data.cancel().catch(() => undefined);
    });
  let processedBytes = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read();
    if (!done) {
      processedBytes += value.byteLength;
      emitter.emit('verification-progress', { txId, processedBytes, totalBytes });
      return value;
    }
    const error = strict ? await bounded(patienceMs, undefined, () => verdict) : undefined;
    if (error !== undefined) throw error;
    return undefined;
  };
  return bodyOf(next, (reason) => {
    stop(reason);
    return reader.cancel(reason).catch(() => undefined);
  });
}
