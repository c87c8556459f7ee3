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

/** The peers of the trusted gateway. */
function peers(fetch: typeof globalThis.fetch | undefined): TrustedPeersGatewaysProvider {
  return new TrustedPeersGatewaysProvider({ trustedGateway: TRUSTED, ...(fetch && { fetch }) });
}

/** The peers, kept for a while in memory; the trusted gateway alone while it names none. */
export function defaultPeers(fetch: typeof globalThis.fetch | undefined): GatewaysProvider {
  const provider = peers(fetch);
  const load = provider.getGateways.bind(provider);
  const cache = new Cached<URL[]>(TTL_SECONDS * 1000, isFilled);
  return orTrusted(provider, () => cache.get(load));
}

/** The same, kept where the next page finds it. */
export function cachedPeers(fetch: typeof globalThis.fetch | undefined): GatewaysProvider {
  const provider = cachedGateways(peers(fetch));
  return orTrusted(provider, provider.getGateways.bind(provider));
}

/** Outside of every cache, so that the stopgap never takes the place of a good list. */
function orTrusted(provider: GatewaysProvider, load: () => Promise<URL[]>): GatewaysProvider {
  const trusted = [new URL(TRUSTED)];
  provider.getGateways = async () => {
    const list = await load().catch(() => trusted);
    return isFilled(list) ? list : trusted;
  };
  return provider;
}

/** A list that outlives the page, where there is one. */
function cachedGateways(gatewaysProvider: GatewaysProvider): GatewaysProvider {
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
