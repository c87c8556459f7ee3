/** The two kinds of error that a request can end with, and what they carry. */

import type { AttemptRecord, RoutingMeta } from './types.js';

/** Why Waypost itself has no answer. */
export type WaypostErrorReason =
  /** Every provider was tried and none answered. */
  | 'exhausted'
  /** Time ran out first. */
  | 'deadline'
  /** All providers are rate-limited for longer than the request may take. */
  | 'rate_limited'
  /** An unsafe request was sent and no answer came: it may or may not have been executed. */
  | 'indeterminate'
  /** The client cannot work: disposed, or its module is not loaded. */
  | 'unavailable'
  /** The request names something that does not exist, or cannot be sent. */
  | 'invalid_request'
  /** An option is wrong. */
  | 'invalid_option';

/** Codes of a {@link WaypostError}: disconnected, disconnected in the middle of an unsafe request, wrong parameters. */
export type WaypostErrorCode = 4900 | 4901 | -32602;

/**
 * Codes of EIP-1193 and JSON-RPC. viem repeats a request after any code that it does not know, which would multiply the
 * deadline, and send an unsafe request again; it knows all of these.
 */
const CODES: Record<WaypostErrorReason, WaypostErrorCode> = {
  exhausted: 4900,
  deadline: 4900,
  rate_limited: 4900,
  indeterminate: 4901,
  unavailable: 4900,
  invalid_request: -32602,
  invalid_option: -32602,
};

/** What an error can tell besides its message. */
export interface WaypostErrorDetails {
  attempts?: readonly AttemptRecord[];
  retryAfterMs?: number | undefined;
  meta?: RoutingMeta | undefined;
  cause?: unknown;
}

/**
 * Waypost has no answer. The message says what happened and what to do; it never holds a URL, a key or a
 * header.
 *
 * @example
 * try {
 *   await rpc.request({ method: 'eth_blockNumber' })
 * } catch (error) {
 *   if (error instanceof WaypostError && error.retryAfterMs) await sleep(error.retryAfterMs)
 * }
 */
export class WaypostError extends Error {
  override readonly name: string = 'WaypostError';
  /** Why. */
  readonly reason: WaypostErrorReason;
  /** A code of EIP-1193 or JSON-RPC; `reason` tells more. */
  readonly code: WaypostErrorCode;
  /** Every attempt: which provider, how it ended, how long it took. */
  readonly attempts: readonly AttemptRecord[];
  /** When it makes sense to try again, in milliseconds from the error, if known. */
  readonly retryAfterMs: number | undefined;
  /** How the request was routed. */
  declare readonly meta?: RoutingMeta;

  constructor(reason: WaypostErrorReason, message: string, details: WaypostErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.code = CODES[reason];
    this.attempts = details.attempts ?? [];
    this.retryAfterMs = details.retryAfterMs;
    hide(this, 'meta', details.meta);
  }

  /** What goes into the `data` member of a JSON-RPC error. */
  toData(): Record<string, unknown> {
    const data: Record<string, unknown> = { reason: this.reason };
    if (this.retryAfterMs !== undefined) data['retry_after_ms'] = Math.ceil(this.retryAfterMs);
    if (this.attempts.length > 0) data['attempts'] = this.attempts;
    return data;
  }
}

/**
 * A provider's own JSON-RPC error: a revert, a refused transaction, wrong parameters. Code, message and
 * data are the provider's.
 *
 * @example
 * try {
 *   await rpc.request({ method: 'eth_call', params: [{ data: '0xfd' }, 'latest'] })
 * } catch (error) {
 *   if (error instanceof RpcError && error.code === 3) console.log('reverted with', error.data)
 * }
 */
export class RpcError extends Error {
  override readonly name: string = 'RpcError';
  /** The provider's code. */
  readonly code: number;
  /** The provider's data, as it came. */
  readonly data: unknown;
  /** Every attempt. */
  declare readonly attempts: readonly AttemptRecord[];
  /** How the request was routed. */
  declare readonly meta?: RoutingMeta;

  constructor(
    error: { code: number; message: string; data?: unknown },
    attempts: readonly AttemptRecord[],
    meta: RoutingMeta | undefined,
  ) {
    super(error.message);
    this.code = error.code;
    this.data = error.data;
    hide(this, 'attempts', attempts);
    hide(this, 'meta', meta);
  }
}

/** Adds a property that neither `JSON.stringify` nor a library that copies errors picks up. */
function hide(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true });
}

/**
 * The caller's abort. The reason is passed on as it is if it is an `AbortError`, else as the cause.
 */
export function abortError(reason: unknown): Error {
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  const error = new Error('The request was aborted by its caller.', { cause: reason });
  error.name = 'AbortError';
  return error;
}
