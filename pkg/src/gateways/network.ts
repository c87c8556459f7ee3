import { anything, callable, check, wholeFrom } from '../checks.js';
import type { Table } from '../checks.js';
import { distinct, toGateway } from './list.js';
import type { ARIORead, GatewaysProvider, Logger, NetworkGateway, SortBy, SortOrder } from './types.js';

/** The registry gives no more at once. */
const PAGE = 1_000;
/** A registry that always has one more page shall not keep us for ever. */
const MOST_PAGES = 100;
/** Failures in a row that end the paging. */
const MOST_FAILURES = 3;

/**
 * The gateways of the AR.IO network's registry, read through `@ar.io/sdk`.
 *
 * @example
 * const provider = new NetworkGatewaysProvider({ ario: ARIO.mainnet(), sortBy: 'totalDelegatedStake', limit: 20 });
 */
export class NetworkGatewaysProvider implements GatewaysProvider {
  /** The registry's client. */
  readonly ario: ARIORead;
  /** By what is sorted. */
  readonly sortBy: SortBy;
  /** Which end comes first. */
  readonly sortOrder: SortOrder;
  /** The most gateways of a list. */
  readonly limit: number;
  /** Which gateways are wanted. */
  readonly filter: (gateway: NetworkGateway) => boolean;
  readonly #logger: Logger | undefined;

  /**
   * @param options.ario the registry's client, for example `ARIO.mainnet()` of `@ar.io/sdk`
   * @param options.sortBy what to sort by; `operatorStake` by default
   * @param options.sortOrder `desc` (default) or `asc`; gateways without the value come last
   * @param options.limit the most gateways to return, an integer from 1; 1000 by default
   * @param options.filter which gateways to take; those that have joined by default
   * @param options.blocklist accepted, but not used, as in Wayfinder: use `filter`
   * @param options.logger where messages go; nowhere by default
   * @throws RangeError if `limit` is not an integer from 1
   */
  constructor(options: {
    ario: ARIORead;
    sortBy?: SortBy;
    sortOrder?: SortOrder;
    limit?: number;
    // A method, so that filters written for the SDK's own type fit as well.
    filter?(gateway: NetworkGateway): boolean;
    blocklist?: string[];
    logger?: Logger;
  }) {
    const table: Table = {
      'ario!': 'getGateways',
      sortBy: anything,
      sortOrder: (value) => value !== 'asc' && value !== 'desc' && '"asc" or "desc"',
      limit: wholeFrom(1),
      filter: callable,
      blocklist: anything,
      logger: anything,
    };
    const checked = check('NetworkGatewaysProvider', options, table);
    const { ario, sortBy = 'operatorStake', sortOrder = 'desc', limit = 1_000, filter = isJoined, logger } = checked;
    this.ario = ario;
    this.sortBy = sortBy;
    this.sortOrder = sortOrder;
    this.limit = limit;
    this.filter = filter;
    this.#logger = logger;
  }

  /**
   * Resolves to the wanted gateways, sorted, each origin once. All pages are read, because a registry may not sort.
   * If later pages fail three times in a row, the list has what came before.
   *
   * @throws the registry's error if nothing came at all (Wayfinder returns `[]`): a cache keeps its old list then
   */
  async getGateways(): Promise<URL[]> {
    const { filter } = this;
    const wanted = (await this.#readAll()).filter((gateway) => filter(gateway));
    const urls = sorted(wanted, this.sortBy, this.sortOrder).map(urlOf);
    const gateways = distinct(urls, this.limit);
    this.#logger?.debug('NetworkGatewaysProvider: got the list', { wanted: wanted.length, gateways: gateways.length });
    return gateways;
  }

  async #readAll(): Promise<NetworkGateway[]> {
    const { ario, sortBy, sortOrder } = this;
    const found: NetworkGateway[] = [];
    const seen = new Set<string | undefined>();
    let cursor: string | undefined;
    let failures = 0;
    // A cursor that comes again would lead in a circle.
    while (!seen.has(cursor) && seen.size < MOST_PAGES) {
      try {
        const { items, nextCursor, hasMore } = await ario.getGateways({ limit: PAGE, cursor, sortBy, sortOrder });
        found.push(...(items ?? []));
        seen.add(cursor);
        failures = 0;
        if (!nextCursor || hasMore === false) break;
        cursor = nextCursor;
      } catch (error) {
        failures += 1;
        this.#logger?.warn('NetworkGatewaysProvider: a page could not be read', { cursor, failures, error });
        if (failures < MOST_FAILURES) continue;
        if (found.length === 0) throw error;
        break;
      }
    }
    return found;
  }
}

const isJoined = (gateway: NetworkGateway): boolean => gateway?.status === 'joined';

/** Sorted by a number that may be nested, and may be a bigint, text or a token object. */
function sorted(gateways: NetworkGateway[], sortBy: string, sortOrder: SortOrder): NetworkGateway[] {
  const path = sortBy.split('.');
  const sign = sortOrder === 'asc' ? 1 : -1;
  const rankOf = (gateway: NetworkGateway): number => {
    const value = path.reduce<unknown>((part, key) => (part as Record<string, unknown> | undefined)?.[key], gateway);
    const number = sign * Number(value ?? NaN);
    return Number.isNaN(number) ? Infinity : number;
  };
  return [...gateways].sort((a, b) => {
    const [first, second] = [rankOf(a), rankOf(b)];
    return first < second ? -1 : Number(first > second);
  });
}

/** Without a URL if the settings hold anything but a scheme, a host and a port. */
function urlOf({ settings }: NetworkGateway): URL | undefined {
  const url = toGateway(`${settings?.protocol}://${settings?.fqdn}:${settings?.port}`);
  return url?.href === `${url?.origin}/` ? url : undefined;
}
