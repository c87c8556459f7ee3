/**
 * Looks at the envelope of a JSON-RPC response while its bytes pass: where the result begins and ends, whose answer
 * it is, whether it is an error. The result itself is not parsed, so that nothing of it can change.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Names and ids that are longer are none of ours, escapes included. */
const LONGEST = 128;

const enum State {
  Start,
  /** A name, or the end of an object without members. */
  First,
  Name,
  Colon,
  Comma,
  Done,
  Value,
  InName,
  InString,
  InContainer,
  InScalar,
}

/** What may come outside of names and values, and what it leads to; by the state that comes before. */
const NEXT: readonly Readonly<Record<string, State>>[] = [
  { '{': State.First },
  { '"': State.InName, '}': State.Done },
  { '"': State.InName },
  { ':': State.Value },
  { ',': State.Name, '}': State.Done },
  {},
];

/** Reads one response object, in pieces of any size. */
export class EnvelopeScanner {
  /** The id as it stands there, once it has been read. */
  id: string | undefined;
  /** Whether there is an error that is not `null`. */
  hasError = false;
  /** Whether the result has begun. */
  hasResult = false;
  /** Whether this is no response object. */
  isBroken = false;

  #state: State = State.Start;
  #member = '';
  readonly #seen = new Set<string>();
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Of a name, an id, or the beginning of an error. */
  #kept = '';

  /** Whether the object is closed. Only space may follow. */
  get isComplete(): boolean {
    return this.#state === State.Done && !this.isBroken;
  }

  /** Takes the next bytes and returns those of the result among them. */
  push(chunk: Uint8Array): Uint8Array {
    let from = this.#isInValue() && this.#member === 'result' ? 0 : -1;
    let to = -1;
    let at = 0;
    while (at < chunk.length && !this.isBroken) {
      const wasInValue = this.#isInValue();
      const before = at;
      at = wasInValue ? this.#inValue(chunk, at) : this.#between(chunk, at);
      if (this.#member !== 'result' || wasInValue === this.#isInValue()) continue;
      if (wasInValue) to = at;
      else from = before;
    }
    return from < 0 || this.isBroken ? new Uint8Array() : chunk.subarray(from, to < 0 ? chunk.length : to);
  }

  #isInValue(): boolean {
    return this.#state >= State.InString;
  }

  #break(): void {
    this.isBroken = true;
  }

  /** One byte outside of values, or the rest of a name. */
  #between(chunk: Uint8Array, at: number): number {
    if (this.#state === State.InName) return this.#inName(chunk, at);
    const char = String.fromCharCode(chunk[at] ?? 0);
    if (/[ \n\r\t]/.test(char)) return at + 1;
    const next = NEXT[this.#state]?.[char];
    this.#kept = '';
    if (this.#state === State.Value) this.#beginValue(char);
    else if (next === undefined) this.#break();
    else this.#state = next;
    return at + 1;
  }

  #inName(chunk: Uint8Array, at: number): number {
    const end = this.#endOfString(chunk, at);
    this.#keep(chunk, at, end < 0 ? chunk.length : end - 1);
    if (end < 0) return chunk.length;
    this.#member = nameOf(this.#kept);
    // Which of two would count differs from reader to reader.
    if (this.#member !== '' && this.#seen.has(this.#member)) this.#break();
    this.#seen.add(this.#member);
    this.#state = State.Colon;
    return end;
  }

  #beginValue(char: string): void {
    if (char === '"') this.#state = State.InString;
    else if (char === '{' || char === '[') this.#state = State.InContainer;
    // Digits, a sign, or the beginning of `true`, `false` and `null`.
    else if (/[-\dtfn]/.test(char)) this.#state = State.InScalar;
    else return this.#break();
    if (this.#member === 'result') this.hasResult = true;
    if (this.#member === 'id') this.#kept = char;
    // A null is the only error that is none.
    if (this.#member === 'error' && char !== 'n') this.hasError = true;
  }

  /** Bytes of a value, to its end or the end of the chunk. */
  #inValue(chunk: Uint8Array, at: number): number {
    const end =
      this.#state === State.InString
        ? this.#endOfString(chunk, at)
        : this.#state === State.InScalar
          ? endOfScalar(chunk, at)
          : this.#endOfContainer(chunk, at);
    if (this.#member === 'id') this.#keep(chunk, at, end < 0 ? chunk.length : end);
    if (end < 0) return chunk.length;
    if (this.#member === 'id') this.id = this.#kept;
    this.#state = State.Comma;
    return end;
  }

  #keep(chunk: Uint8Array, from: number, to: number): void {
    if (this.#kept.length + to - from > LONGEST) {
      // A name that long is not looked at; an id that long cannot be ours.
      if (this.#member === 'id' && this.#state !== State.InName) this.#break();
      this.#kept = '\0';
      return;
    }
    if (this.#kept !== '\0') for (const byte of chunk.subarray(from, to)) this.#kept += String.fromCharCode(byte);
  }

  /** Where the string goes on after its closing quote, or -1. */
  #endOfString(chunk: Uint8Array, at: number): number {
    let from = at;
    if (this.#isEscaped) {
      from += 1;
      this.#isEscaped = false;
    }
    for (;;) {
      const quote = chunk.indexOf(QUOTE, from);
      const end = quote < 0 ? chunk.length : quote;
      let slashes = 0;
      while (end - slashes > from && chunk[end - slashes - 1] === BACKSLASH) slashes += 1;
      const isEscaped = slashes % 2 === 1;
      if (quote < 0) {
        this.#isEscaped = isEscaped;
        return -1;
      }
      if (!isEscaped) return quote + 1;
      from = quote + 1;
    }
  }

  #endOfContainer(chunk: Uint8Array, at: number): number {
    for (let index = at; index < chunk.length; index += 1) {
      if (this.#isInString) {
        const end = this.#endOfString(chunk, index);
        if (end < 0) return -1;
        this.#isInString = false;
        index = end - 1;
        continue;
      }
      const byte = chunk[index];
      if (byte === QUOTE) this.#isInString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth += 1;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (this.#depth === 0) return index + 1;
        this.#depth -= 1;
      }
    }
    return -1;
  }
}

/** Where a number or word ends, or -1: what follows it is not part of it. */
function endOfScalar(chunk: Uint8Array, at: number): number {
  const length = chunk.subarray(at).findIndex((byte) => !/[-+.\dEa-z]/.test(String.fromCharCode(byte)));
  return length < 0 ? -1 : at + length;
}

/** The member that a name stands for; empty for all that do not matter. */
function nameOf(text: string): string {
  if (text.includes('\\')) {
    try {
      text = String(JSON.parse(`"${text}"`));
    } catch {
      return '';
    }
  }
  return /^(?:result|id|error)$/.test(text) ? text : '';
}
