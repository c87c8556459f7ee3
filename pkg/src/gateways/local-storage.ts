import { Cached } from '../cached.js';
import { anything, atLeast, check } from '../checks.js';
import { isFilled, toGateway } from './list.js';
import { listOf } from './simple-cache.js';
import type { GatewaysProvider, Logger } from './types.js';

/** What is stored: the same that Wayfinder stores. */
interface Stored {
  gateways: string[];
  timestamp: number;
  expiresAt: number;
  ttlSeconds: number;
}

/**
 * Keeps another provider's list in `localStorage`, where the next page finds it, and in memory. An old list is served
 * while a new one is slow to come or does not come. Where storage is full or forbidden, memory alone has to do.
 *
 * @example
 * const provider = new LocalStorageGatewaysProvider({
 *   gatewaysProvider: new TrustedPeersGatewaysProvider({ trustedGateway: 'https://turbo-gateway.com' }),
 * });
 */
export class LocalStorageGatewaysProvider implements GatewaysProvider {
  /** Where lists come from. */
  readonly gatewaysProvider: GatewaysProvider;
  /** How long a list is fresh, in seconds. */
  readonly ttlSeconds: number;
  /** Names the list in storage, as `wayfinder|<cacheKey>`. */
  readonly cacheKey: string;
  readonly #logger: Logger | undefined;
  readonly #cache: Cached<URL[]>;
  /** The stored text that memory knows of. */
  #seen: string | null = null;

  /**
   * @param options.gatewaysProvider where lists come from
   * @param options.ttlSeconds how long a list is fresh in seconds, from 0 (nothing is kept); 3600 by default
   * @param options.cacheKey names the list in storage, as `wayfinder|<cacheKey>`; `gateways` by default
   * @param options.logger where messages go; nowhere by default
   * @throws Error outside of a page: there is no `localStorage`
   * @throws RangeError if `ttlSeconds` is not a finite number from 0
   */
  constructor(options: { gatewaysProvider: GatewaysProvider; ttlSeconds?: number; cacheKey?: string; logger?: Logger }) {
    if (!hasStorage()) {
      throw new Error(
        'LocalStorageGatewaysProvider is only available in browser environments. ' +
          'Consider using SimpleCacheGatewaysProvider for node.js environments.',
      );
    }
    const table = { 'gatewaysProvider!': 'getGateways', ttlSeconds: atLeast(0), cacheKey: anything, logger: anything };
    const checked = check('LocalStorageGatewaysProvider', options, table);
    const { gatewaysProvider, ttlSeconds = 3_600, cacheKey = 'gateways', logger } = checked;
    this.gatewaysProvider = gatewaysProvider;
    this.ttlSeconds = ttlSeconds;
    this.cacheKey = cacheKey;
    this.#logger = logger;
    this.#cache = new Cached<URL[]>(ttlSeconds * 1_000, isFilled, (gateways) => this.#store(gateways));
  }

  /** Resolves to the list; never rejects: without any list it is `[]`. An empty list never replaces a good one. */
  getGateways(): Promise<URL[]> {
    this.#look();
    return this.#cache.get(() => listOf(this.gatewaysProvider, this.#logger));
  }

  /** Forgets the list, in storage as well. */
  clearCache(): void {
    this.#cache.clear();
    this.#attempt((storage) => storage.removeItem(`wayfinder|${this.cacheKey}`));
  }

  /** Takes over what an earlier page or another tab has stored. */
  #look(): void {
    this.#attempt((storage) => {
      const text = storage.getItem(`wayfinder|${this.cacheKey}`) ?? null;
      if (text === this.#seen) return;
      this.#seen = text;
      if (text === null) this.#cache.clear();
      else this.#take(JSON.parse(text) as Partial<Stored> | null);
    });
  }

  #take(stored: Partial<Stored> | null): void {
    const texts: unknown = stored?.gateways;
    const gateways = Array.isArray(texts) ? texts.map(toGateway) : [];
    if (gateways.includes(undefined) || !isFilled(gateways)) throw new Error('It is not a list of gateways.');
    const ageMs = Date.now() - Number(stored?.timestamp);
    const leftMs = Math.min(Number(stored?.ttlSeconds), this.ttlSeconds) * 1_000 - ageMs;
    // A date in the future tells that the clock was set back: nobody knows how old the list is.
    this.#cache.put(gateways, ageMs >= 0 && leftMs > 0 ? leftMs : 0);
  }

  #store(gateways: URL[]): void {
    this.#attempt((storage) => {
      const { ttlSeconds } = this;
      const timestamp = Date.now();
      const stored: Stored = { gateways: gateways.map(String), timestamp, expiresAt: timestamp + ttlSeconds * 1_000, ttlSeconds };
      const text = JSON.stringify(stored);
      storage.setItem(`wayfinder|${this.cacheKey}`, text);
      this.#seen = text;
    });
  }

  /** Storage may be full, forbidden or damaged: none of it is a reason to have no gateways. */
  #attempt(action: (storage: Storage) => void): void {
    try {
      action(window.localStorage);
    } catch (error) {
      this.#logger?.warn('LocalStorageGatewaysProvider: storage could not be used', error);
    }
  }
}

function hasStorage(): boolean {
  try {
    return Boolean(globalThis.window?.localStorage);
  } catch {
    // It is there, but this page may not use it.
    return true;
  }
}
