/** The calls in a body: checked, and with the very text of what is passed on. */

import { elementTexts, rawMember } from '../json.js';
import { Refusal } from './failure.js';

/** One member of a body. */
export interface Call {
  /** The text of the id; nothing for a notification. */
  id: string | undefined;
  method: string;
  /** The text of the params, if there are any. */
  rawParams: string | undefined;
  params: unknown;
  /** Why it is no request. */
  fault: string | undefined;
}

/** Reads a body of at most so many members. */
export function readCalls(text: string, most: number): { calls: Call[]; isBatch: boolean } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Refusal(400, -32700, 'Parse error: Invalid JSON');
  }
  if (!Array.isArray(parsed)) return { calls: [readCall(parsed, text)], isBatch: false };
  const { length } = parsed;
  // Before anything is made of each of them.
  if (length === 0) throw new Refusal(200, -32600, 'Invalid Request: the batch is empty');
  if (length > most) throw new Refusal(200, -32600, `Invalid Request: batch too large: ${length} members, the limit is ${most}`);
  const texts = elementTexts(text);
  return { calls: parsed.map((each, index) => readCall(each, texts[index] ?? '')), isBatch: true };
}

function readCall(value: unknown, text: string): Call {
  const call: Call = { id: 'null', method: '', rawParams: undefined, params: undefined, fault: undefined };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { ...call, fault: 'Invalid Request: a request must be an object' };
  }
  const { jsonrpc = '2.0', id, method, params: given } = value as Record<string, unknown>;
  // Some write what they do not have as null.
  const params = given ?? undefined;
  const isId = id === null || typeof id === 'string' || typeof id === 'number';
  if (id !== undefined && !isId) return { ...call, fault: 'Invalid Request: id must be a string, a number or null' };
  call.id = id === undefined ? undefined : rawMember(text, 'id');
  // Who sends something that is no request has no right not to hear of it.
  const faulty = (fault: string): Call => ({ ...call, id: call.id ?? 'null', fault: `Invalid Request: ${fault}` });
  if (jsonrpc !== '2.0') return faulty('jsonrpc must be "2.0"');
  if (typeof method !== 'string' || method === '') return faulty('method must be a string that is not empty');
  if (params !== undefined && typeof params !== 'object') return faulty('params must be an array or an object');
  return { ...call, method, params, rawParams: params === undefined ? undefined : rawMember(text, 'params') };
}
