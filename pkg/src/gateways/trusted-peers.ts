import { bounded, textOf } from '../bounded.js';
import { anything, callable, check, positive } from '../checks.js';
import { MOST_GATEWAYS, distinct, gatewayOf, toGateway } from './list.js';
import type { GatewaysProvider, Logger } from './types.js';

/** More is absurd: a thousand peers are a hundred kilobytes. */
const MOST_BYTES = 4_194_304;
/** An error page shall not fill an error's message. */
const MOST_ERROR_TEXT = 500;

/**
 * The peers that a trusted gateway knows: `GET <origin>/ar-io/peers`, once per call. Wrap it in a
 * `SimpleCacheGatewaysProvider` to ask less often.
 *
 * @example
 * const provider = new TrustedPeersGatewaysProvider({ trustedGateway: 'https://turbo-gateway.com' });
 */
export class TrustedPeersGatewaysProvider implements GatewaysProvider {
  /** The gateway that is asked. */
  readonly trustedGateway: URL;
  /** Time for the whole answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch | undefined;
  readonly #logger: Logger | undefined;

  /**
   * @param options.trustedGateway URL of the gateway to ask
   * @param options.timeoutMs time for headers and body together in milliseconds, above 0; 10000 by default
   * @param options.fetch used instead of the global `fetch`, which is looked up at every call
   * @param options.logger where messages go; nowhere by default
   * @throws TypeError `Invalid URL` if the gateway cannot be parsed
   * @throws RangeError if `timeoutMs` is not a finite number above 0
   */
  constructor(options: { trustedGateway: string | URL; timeoutMs?: number; fetch?: typeof globalThis.fetch; logger?: Logger }) {
    const name = 'TrustedPeersGatewaysProvider';
    const table = { trustedGateway: anything, timeoutMs: positive, fetch: callable, logger: anything };
    const { trustedGateway, timeoutMs = 10_000, fetch, logger } = check(name, options, table);
    this.trustedGateway = gatewayOf(name, trustedGateway);
    this.timeoutMs = timeoutMs;
    this.#fetch = fetch;
    this.#logger = logger;
  }

  /**
   * Resolves to the peers, each origin once, at most 5,000; `[]` if the gateway knows none. Entries that are not
   * HTTP URLs are left out.
   *
   * @throws Error `Failed to fetch trusted peer list: …` without a usable answer in time
   * @throws Error `Invalid trusted peer list format: …` if the answer is something else
   */
  async getGateways(): Promise<URL[]> {
    const data = (await this.#ask()) as { gateways?: unknown } | null;
    const peers = data?.gateways;
    if (typeof peers !== 'object' || peers === null) {
      throw new Error('Invalid trusted peer list format: missing "gateways" object');
    }
    const entries = Object.values(peers) as ({ url?: unknown } | null)[];
    const gateways = distinct(
      entries.map((entry) => toGateway(entry?.url)),
      MOST_GATEWAYS,
    );
    this.#logger?.debug('TrustedPeersGatewaysProvider: got the list', { entries: entries.length, gateways: gateways.length });
    return gateways;
  }

  async #ask(): Promise<unknown> {
    // A browser's fetch refuses to be called as a method of something else.
    const send = this.#fetch ?? globalThis.fetch;
    try {
      return await bounded(this.timeoutMs, undefined, async (signal) => {
        const response = await send(new URL('/ar-io/peers', this.trustedGateway).href, { method: 'GET', signal });
        const text = await textOf(response, MOST_BYTES);
        if (response.ok) return JSON.parse(text) as unknown;
        throw new Error(`${response.status} ${response.statusText} ${text.slice(0, MOST_ERROR_TEXT)}`);
      });
    } catch (cause) {
      throw new Error(`Failed to fetch trusted peer list: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
}
