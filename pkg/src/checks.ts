/** Options against tables of what they may be. */

import { WaypostError } from './errors.js';
import { describe, didYouMean, refuse } from './refusal.js';

/** Says what a value must be if it is not, or what else is to be checked, or throws an error of its own. */
export type Test = (value: unknown, path: string) => string | false | List | Table;

/** A test, the name of a method that must be there, or what each entry of a list or each option must be. */
export type Rule = Test | string | List | Table;

type List = readonly [Rule];

/** Rules by option. An option whose name ends with `!` must be given; `*` stands for any name. */
export interface Table {
  readonly [option: string]: Rule;
}

export const anything: Test = () => false;
export const number: Test = (value) => typeof value !== 'number' && 'a number';
export const string: Test = (value) => typeof value !== 'string' && 'a string';
export const boolean: Test = (value) => typeof value !== 'boolean' && 'true or false';
export const callable: Test = (value) => typeof value !== 'function' && 'a function';
export const filled: Test = (value) => !(typeof value === 'string' && value !== '') && 'a string that is not empty';

/** Finite numbers above 0. */
export const positive: Test = (value, path) =>
  inRange(Number.isFinite(value) && Number(value) > 0, path, 'a finite number above 0', value);

/** Finite numbers from `least`. */
export const atLeast =
  (least: number): Test =>
  (value, path) =>
    inRange(Number.isFinite(value) && Number(value) >= least, path, `a finite number of at least ${least}`, value);

/** Integers from `least`. */
export const wholeFrom =
  (least: number): Test =>
  (value, path) =>
    inRange(Number.isInteger(value) && Number(value) >= least, path, `an integer of at least ${least}`, value);

function inRange(isRight: boolean, path: string, expected: string, value: unknown): false {
  if (isRight) return false;
  throw new RangeError(`${path} must be ${expected}, but is ${describe(value)}.`);
}

/** Whether it is an object, and no array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Refuses options that are unknown, missing or wrong; gives back those that are right.
 *
 * @param owner whose options they are
 */
export function check<T>(owner: string, value: T, rule: Rule, path = ''): T {
  const place = path === '' ? `The options of ${owner}` : `${owner}: ${path}`;
  if (typeof rule === 'string') {
    if (typeof Object(value)[rule] !== 'function') refuse(place, `an object with ${rule}()`, value);
  } else if (typeof rule === 'function') {
    const verdict = rule(value, place);
    if (typeof verdict === 'string') refuse(place, verdict, value);
    if (verdict !== false) check(owner, value, verdict, path);
  } else if (isList(rule)) {
    if (!Array.isArray(value)) refuse(place, 'an array', value);
    value.forEach((entry, index) => check(owner, entry, rule[0], `${path}[${index}]`));
  } else {
    if (!isRecord(value)) refuse(place, 'an object', value);
    checkEach(owner, value, rule, path && `${path}.`);
  }
  return value;
}

const isList = (rule: List | Table): rule is List => Array.isArray(rule);

function checkEach(owner: string, options: Record<string, unknown>, table: Table, prefix: string): void {
  for (const [key, value] of Object.entries(options)) {
    const rule = own(table, key) ?? own(table, `${key}!`) ?? table['*'];
    if (rule === undefined) {
      const known = Object.keys(table).map((each) => each.replace('!', ''));
      const hint = `${didYouMean(key, known)} Known here: ${known.join(', ')}.`;
      throw new WaypostError('invalid_option', `${owner}: unknown option ${prefix}${key}.${hint}`);
    }
    if (value !== undefined || '*' in table) check(owner, value, rule, prefix + key);
  }
  for (const name of Object.keys(table)) {
    const key = name.slice(0, -1);
    if (name.endsWith('!') && options[key] === undefined) check(owner, undefined, table[name] as Rule, prefix + key);
  }
}

const own = (table: Table, name: string): Rule | undefined => (Object.hasOwn(table, name) ? table[name] : undefined);
