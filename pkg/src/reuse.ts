/** Answers that serve more than one call: one that is under way (single flight), and one that cannot change (cache). */

import { abortError, WaypostError } from './errors.js';

/** How long answers are kept, and how many. */
export interface CacheOptions {
  /** Life of a block by hash, a mined transaction and its receipt: 1 to 3,600,000 ms, default 15,000. A chain may still drop a block. */
  ttlMs?: number;
  /** Answers kept: 1 to 100,000, default 256. The oldest goes first. */
  maxEntries?: number;
}

/** What a caller wants: equal keys mean equal requests. */
export interface SharedCall {
  key: string;
  method: string;
  signal: AbortSignal | undefined;
  /** Asks the providers, and resolves to the result as text: every caller parses its own copy. */
  ask(signal: AbortSignal | undefined): Promise<string>;
}

interface Flight {
  readonly answer: Promise<string>;
  readonly stop: (reason: unknown) => void;
  waiting: number;
}

/** The chain of a URL does not change while a page is open. */
const CHAIN_LIFE_MS = 600_000;
const DEFAULT_LIFE_MS = 15_000;
/** Characters of all answers kept. */
const MOST_KEPT = 4_000_000;

export class Reuse {
  readonly #flights = new Map<string, Flight>();
  readonly #kept = new Map<string, { text: string; from: number; until: number }>();
  #size = 0;

  constructor(
    readonly isSharing: boolean,
    readonly cache: CacheOptions | undefined,
    readonly now: () => number,
  ) {}

  async call(call: SharedCall): Promise<string> {
    const { key, method, signal, ask } = call;
    const kept = this.#kept.get(key);
    const now = this.now();
    // A clock that was set back knows no ages.
    if (kept !== undefined && kept.from <= now && now < kept.until) return kept.text;
    const text = await (this.isSharing ? this.#join(call, false) : ask(signal));
    this.#keep(key, text, this.#life(method, text));
    return text;
  }

  /** Only callers who wait for it keep a flight going. */
  #join(call: SharedCall, isSecondTry: boolean): Promise<string> {
    const { key, signal } = call;
    if (signal?.aborted === true) return Promise.reject(abortError(signal.reason));
    const known = this.#flights.get(key);
    const flight = known ?? this.#start(call);
    flight.waiting++;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        flight.waiting--;
        signal?.removeEventListener('abort', stop);
      };
      const stop = (): void => {
        leave();
        if (flight.waiting === 0) {
          this.#forget(key, flight);
          flight.stop(signal?.reason);
        }
        reject(abortError(signal?.reason));
      };
      signal?.addEventListener('abort', stop, { once: true });
      flight.answer.then(
        (text) => {
          leave();
          resolve(text);
        },
        (error: unknown) => {
          if (signal?.aborted === true) return;
          leave();
          // What providers say is everybody's answer. Another's deadline is not: who came later has time left, once.
          const isLate = error instanceof WaypostError && error.reason === 'deadline';
          if (isLate && known !== undefined && !isSecondTry) this.#join(call, true).then(resolve, reject);
          else reject(error);
        },
      );
    });
  }

  #start({ key, ask }: SharedCall): Flight {
    const controller = new AbortController();
    const answer = ask(controller.signal).finally(() => this.#forget(key, flight));
    const flight: Flight = { answer, stop: (reason) => controller.abort(reason), waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  #forget(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }

  /** How long an answer will stay true; 0 if nobody knows. */
  #life(method: string, text: string): number {
    if (this.cache === undefined || text === 'null') return 0;
    const { ttlMs = DEFAULT_LIFE_MS } = this.cache;
    switch (method) {
      case 'eth_chainId':
      case 'net_version':
        return CHAIN_LIFE_MS;
      case 'eth_getBlockByHash':
        return ttlMs;
      case 'eth_getTransactionByHash':
      case 'eth_getTransactionReceipt':
        return isMined(text) ? ttlMs : 0;
      default:
        return 0;
    }
  }

  #keep(key: string, text: string, life: number): void {
    if (life === 0 || text.length > MOST_KEPT / 4) return;
    this.#drop(key);
    const from = this.now();
    this.#kept.set(key, { text, from, until: from + life });
    this.#size += text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= (this.cache?.maxEntries ?? 256) && this.#size <= MOST_KEPT) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.text.length ?? 0;
    this.#kept.delete(key);
  }
}

/** Pending transactions have no block yet. */
const isMined = (text: string): boolean => typeof (JSON.parse(text) as { blockHash?: unknown }).blockHash === 'string';
