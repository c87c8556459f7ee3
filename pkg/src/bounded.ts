/** Limits of time and size for what others do. */

/**
 * What the promise brings, unless `ms` pass or the signal fires before: then it rejects, with the signal's reason,
 * or with the text `late`, and `stop` is called at once.
 */
export function limited<T>(
  promise: Promise<T>,
  ms: number,
  signal: AbortSignal | undefined,
  stop: (reason: unknown) => void = () => undefined,
  late = `There was no answer within ${Math.round(ms)} ms.`,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const give = (reason: unknown): void => {
      end();
      stop(reason);
      reject(reason);
    };
    const onAbort = (): void => give(signal?.reason);
    // Longer timers would fire at once.
    const timer = ms === Infinity ? undefined : setTimeout(() => give(new Error(late)), Math.min(ms, 0x7fff_ffff));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    promise.then(resolve, reject).finally(end);
  });
}

/** Runs `work` for at most `ms`, and not beyond the signal, whether or not `work` cares for the signal it gets. */
export async function bounded<T>(ms: number, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  return limited(work(controller.signal), ms, signal, (reason) => controller.abort(reason));
}

/** The text of a body of at most `most` bytes; rejects beyond, and reads no further. */
export async function textOf(
  message: Request | Response,
  most: number,
  tooLong: () => Error = () => new Error(`The answer has more than ${most} bytes.`),
): Promise<string> {
  const reader = message.body?.getReader();
  if (reader === undefined) return message.text();
  const decoder = new TextDecoder();
  let text = '';
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > most) {
      void reader.cancel().catch(() => undefined);
      throw tooLong();
    }
    text += decoder.decode(value, { stream: true });
  }
}
