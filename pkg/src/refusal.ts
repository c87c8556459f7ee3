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
  const edits = known.map((name) => editDistance(word.toLowerCase(), name.toLowerCase()));
  const least = Math.min(...edits);
  return least <= 3 ? ` Did you mean "${known[edits.indexOf(least)]}"?` : '';
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const letter of a) {
    let corner = 0;
    let left = Infinity;
    row = row.map((above, index) => {
      const swap = index === 0 ? Infinity : corner + (letter === b[index - 1] ? 0 : 1);
      corner = above;
      left = Math.min(swap, above + 1, left + 1);
      return left;
    });
  }
  return row[b.length] ?? 0;
}
