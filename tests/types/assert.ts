/** What the compiler shall agree to: each of these fails to compile where it does not hold. */

/** Whether two types are the same, not only assignable to each other. */
export type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

type IsAny<T> = 0 extends 1 & T ? true : false;

/** Types of the platform, which are not ours to keep clean. */
type Foreign = URL | AbortSignal | Response;

type Step<Depth extends readonly 0[]> = readonly [...Depth, 0];

/** The paths within `T` that are `any`, six levels deep. */
type AnyPaths<T, Path extends string, Depth extends readonly 0[]> =
  IsAny<T> extends true ? Path
  : Depth['length'] extends 6 ? never
  : T extends Foreign ? never
  : Same<T, typeof fetch> extends true ? never
  : T extends Promise<infer Value> ? AnyPaths<Value, `${Path}*`, Step<Depth>>
  : T extends (...args: infer Args) => infer Result ?
      AnyPaths<Result, `${Path}()`, Step<Depth>> | AnyPaths<Args, `${Path}(…)`, Step<Depth>>
  : T extends readonly (infer Item)[] ? AnyPaths<Item, `${Path}[]`, Step<Depth>>
  : T extends object ?
      { [Key in keyof T]-?: AnyPaths<T[Key], `${Path}.${Key & string}`, Step<Depth>> }[keyof T]
  : never;

/** `true` if nothing within `T` is `any`, else the paths of what is. */
export type Clean<T> = [AnyPaths<T, '', []>] extends [never] ? true : AnyPaths<T, '', []>;

/** Compiles for `true` only. */
export declare function expectTrue<T extends true>(): T;
