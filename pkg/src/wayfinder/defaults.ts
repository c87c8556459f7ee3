/** Where gateways come from if nobody says. */

import { Cached } from '../cached.js';
import { isFilled } from '../gateways/list.js';
import { LocalStorageGatewaysProvider } from '../gateways/local-storage.js';
import { SimpleCacheGatewaysProvider } from '../gateways/simple-cache.js';
import { TrustedPeersGatewaysProvider } from '../gateways/trusted-peers.js';
import type { GatewaysProvider } from '../gateways/types.js';

const TRUSTED = 'https://turbo-gateway.com';
/** How long the list of peers is fresh. */
const TTL_SECONDS = 300;

/** The peers of the trusted gateway, kept for a while; that gateway alone while it names none. */
export class DefaultPeers extends TrustedPeersGatewaysProvider {
  readonly #peers = new Cached<URL[]>(TTL_SECONDS * 1000, isFilled);

  constructor(fetch: typeof globalThis.fetch | undefined) {
    super({ trustedGateway: TRUSTED, ...(fetch && { fetch }) });
  }

  override async getGateways(): Promise<URL[]> {
    try {
      const peers = await this.#peers.get(() => super.getGateways());
      return isFilled(peers) ? peers : [this.trustedGateway];
    } catch {
      return [this.trustedGateway];
    }
  }
}

/** A list that outlives the page, where there is one. */
export function cachedGateways(gatewaysProvider: GatewaysProvider): GatewaysProvider {
  const settings = { gatewaysProvider, ttlSeconds: TTL_SECONDS };
  const hasPage = (globalThis as { window?: { document?: unknown } }).window?.document !== undefined;
  if (!hasPage) return new SimpleCacheGatewaysProvider(settings);
  try {
    return new LocalStorageGatewaysProvider(settings);
  } catch {
    // A sandboxed frame has a page and no storage.
    return new SimpleCacheGatewaysProvider(settings);
  }
}
