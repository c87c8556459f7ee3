/** Small checks that the constructors of the content half share. */

import { WaypostError } from './errors.js';
import { describe, didYouMean, refuse } from './refusal.js';

/** Refuses anything but an object, and keys that the class does not know. */
export function checkKeys(className: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) refuse(`The options of ${className}`, 'an object', options);
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue;
    const hint = `${didYouMean(key, known)} Known here: ${known.join(', ')}.`;
    throw new WaypostError('invalid_option', `${className}: unknown option ${key}.${hint}`);
  }
}

/** Refuses anything but a finite number that is at least `least`, or above it if that is `exclusive`. */
export function checkNumber(
  className: string,
  option: string,
  value: unknown,
  least: number,
  { integer = false, exclusive = false }: { integer?: boolean; exclusive?: boolean } = {},
): void {
  const isRight = integer ? Number.isInteger(value) : Number.isFinite(value);
  if (isRight && (exclusive ? (value as number) > least : (value as number) >= least)) return;
  const kind = integer ? 'an integer' : 'a finite number';
  const bound = exclusive ? 'above' : 'of at least';
  throw new RangeError(`${className}: ${option} must be ${kind} ${bound} ${least}, but is ${describe(value)}.`);
}

/** Refuses a value that lacks the method which will be called. */
export function checkMethod(className: string, option: string, value: unknown, method: string): void {
  if (typeof (value as Record<string, unknown> | null | undefined)?.[method] !== 'function') {
    refuse(`${className}: ${option}`, `an object with ${method}()`, value);
  }
}
