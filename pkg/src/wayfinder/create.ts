import { RandomRoutingStrategy } from '../routing/random.js';
import { cachedPeers } from './defaults.js';
import { CALLBACKS } from './events.js';
import { nested } from './options.js';
import type { WayfinderFetchOptions, WayfinderOptions } from './types.js';
import { Wayfinder } from './wayfinder.js';

/**
 * Creates a content client. Without options it asks random peers of turbo-gateway.com.
 *
 * @throws WaypostError an option is wrong; the message has its name, what was seen and what is allowed
 *
 * @example
 * const wayfinder = createWayfinderClient({ routingStrategy: new FastestPingRoutingStrategy({ timeoutMs: 500 }) });
 * const response = await wayfinder.request('ar://ardrive');
 */
export function createWayfinderClient(options: WayfinderOptions & WayfinderFetchOptions = {}): Wayfinder {
  const { emitter } = options;
  const settings = nested(options);
  const gatewaysProvider = settings.gatewaysProvider ?? cachedPeers(settings.fetch);
  const strategy = settings.routingSettings?.strategy ?? new RandomRoutingStrategy({ gatewaysProvider });
  const wayfinder = new Wayfinder({ ...settings, gatewaysProvider, routingSettings: { ...settings.routingSettings, strategy } });
  for (const name of emitter === undefined ? [] : Object.values(CALLBACKS)) {
    wayfinder.emitter.on(name, (event) => void emitter?.emit(name, event));
  }
  return wayfinder;
}

/** As {@link createWayfinderClient}. */
export const createWayfinder = createWayfinderClient;
