/** What a body says: a result, an error, or nothing that can be used. */

import { parseJson, rawMember } from './json.js';
import type { Provider } from './topology.js';
import type { ParseMode } from './types.js';

/** A JSON-RPC error object that has what the specification asks for. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** A body after a look at its envelope. */
export type Reading =
  | { kind: 'result'; result: unknown }
  | { kind: 'error'; error: RpcErrorObject }
  /** An HTTP error without JSON-RPC; `text` is its body, if that is short: it may say when to come back. */
  | { kind: 'http'; text: string }
  | { kind: 'bad' };

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Longer texts are pages, or data that says nothing about the error. */
const LONGEST_TEXT = 1024;

/** Reads the answer to one request. */
export function readReply(status: number, text: string, id: number, mode: ParseMode): Reading {
  const isOk = status >= 200 && status < 300;
  let envelope: unknown;
  try {
    envelope = parseJson(text, mode);
  } catch {
    return isOk ? { kind: 'bad' } : { kind: 'http', text: shortText(text) };
  }
  const reading = readEnvelope(envelope, id);
  if (reading.kind === 'result') {
    if (!isOk) return { kind: 'http', text: '' };
    return mode === 'raw' ? { kind: 'result', result: rawMember(text, 'result') } : reading;
  }
  if (reading.kind === 'bad' && !isOk) return { kind: 'http', text: shortText(text) };
  return reading;
}

/** Reads one response object: an error wins over a result, and the id must be ours. */
export function readEnvelope(envelope: unknown, id: number): Reading {
  if (!isObject(envelope)) return { kind: 'bad' };
  const error = readError(envelope['error']);
  const isOurs = hasId(envelope, id);
  if (error !== undefined) {
    // A provider that could not read the request cannot know its id.
    return isOurs || envelope['id'] === null || envelope['id'] === undefined ? { kind: 'error', error } : { kind: 'bad' };
  }
  const hasResult = 'result' in envelope && (envelope['error'] === undefined || envelope['error'] === null);
  return isOurs && hasResult ? { kind: 'result', result: envelope['result'] } : { kind: 'bad' };
}

/** Whether a response object is the answer to our id; some servers turn numbers into strings. */
export function hasId(envelope: unknown, id: number): boolean {
  const given = isObject(envelope) ? envelope['id'] : undefined;
  return given === id || given === String(id);
}

/** Makes a proper error object of what providers send as one; `undefined` if it is none. */
function readError(error: unknown): RpcErrorObject | undefined {
  if (!isObject(error) || !('code' in error || 'message' in error)) return undefined;
  const code = Number(error['code']);
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  const read: RpcErrorObject = { code: Number.isFinite(code) ? code : -32603, message };
  if (error['data'] !== undefined) read.data = error['data'];
  return read;
}

/** The part of `error.data` that tells reverts and waits apart: revert data, or a short JSON text. */
export function dataText(data: unknown): string {
  if (typeof data === 'string') return data.slice(0, LONGEST_TEXT);
  if (!isObject(data)) return '';
  if (typeof data['data'] === 'string') return data['data'].slice(0, LONGEST_TEXT);
  try {
    return JSON.stringify(data).slice(0, LONGEST_TEXT);
  } catch {
    return '';
  }
}

function shortText(text: string): string {
  return text.length <= LONGEST_TEXT && !text.trimStart().startsWith('<') ? text : '';
}

/** Takes parts of the provider's URL and headers out of a text of the provider. */
export function redact(text: string, provider: Provider): string {
  return provider.secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), text);
}
