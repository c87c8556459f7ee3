/** Reading results without changing them. */

import type { ParseMode } from './types.js';

const STRING_OR_NUMBER = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const LONG_NUMBER = /\d{16}/;

/** Parses JSON text; with `bigint`, integers that a number cannot hold become `bigint`. */
export function parseJson(text: string, mode: ParseMode): unknown {
  return mode === 'bigint' && LONG_NUMBER.test(text) ? parseWithBigInts(text) : JSON.parse(text);
}

/**
 * Turns long integers into marked strings and, while parsing, back. The mark is a run of a control character,
 * which JSON can hold only as an escape, longer than all such escapes in the text together: so no string of
 * the text can be taken for one of ours. Works on every runtime, to any depth that `JSON.parse` takes.
 */
function parseWithBigInts(text: string): unknown {
  const escape = '\\u0001';
  const length = text.split(escape).length;
  const mark = '\u0001'.repeat(length);
  const written = escape.repeat(length);
  const marked = text.replace(STRING_OR_NUMBER, (token) =>
    INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? `"${written}${token}"` : token,
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(length)) : value,
  );
}

/** The text of the top-level member `name` of a JSON object that is known to be valid. */
export function rawMember(text: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(text, 0) + 1;
  for (;;) {
    at = skipSpace(text, at);
    if (text[at] !== '"') return found;
    const keyEnd = skipString(text, at);
    const key: unknown = JSON.parse(text.slice(at, keyEnd));
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, start);
    // Of members with the same name the last one counts, as in JSON.parse.
    if (key === name) found = text.slice(start, end);
    at = skipSpace(text, end);
    if (text[at] !== ',') return found;
    at += 1;
  }
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function skipString(text: string, at: number): number {
  at += 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, at: number): number {
  if (text[at] === '"') return skipString(text, at);
  let depth = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      at = skipString(text, at);
      continue;
    }
    if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      if (depth === 0) break;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (char === ',' || text.charCodeAt(at) <= 0x20)) break;
    at += 1;
  }
  return at;
}

/** The texts of the elements of a JSON array that is known to be valid. */
export function elementTexts(text: string): string[] {
  const texts: string[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (at < text.length && text[at] !== ']') {
    const end = skipValue(text, at);
    texts.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return texts;
}
