/** Sentences for values that are wrong. */

import { WaypostError } from './errors.js';

/** Refuses a value: which field, what is expected, what came. */
export function refuse(path: string, expected: string, value: unknown): never {
  throw new WaypostError('invalid_option', `${path} must be ${expected}, but is ${describe(value)}.`);
}

/** Names a value without showing what may be secret. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? 'a function' : String(value);
  return Array.isArray(value) ? 'an array' : 'an object';
}

/** A sentence with the known name that is at most three edits away; empty without one. */
export function didYouMean(word: string, known: readonly string[]): string {
  const ranked = known.map((name) => ({ name, edits: editDistance(word.toLowerCase(), name.toLowerCase()) }));
  ranked.sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best !== undefined && best.edits <= 3 ? ` Did you mean "${best.name}"?` : '';
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
