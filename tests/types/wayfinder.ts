/** The content half: options, answers and events have exact types, and any object that chooses will do. */

import {
  AdaptiveRoutingStrategy,
  CompositeGatewaysProvider,
  CompositeRoutingStrategy,
  createRoutingStrategy,
  createRpcClient,
  createWayfinder,
  createWayfinderClient,
  FastestPingRoutingStrategy,
  FastestRoutingStrategy,
  LatencyWeightedRoutingStrategy,
  LoadBalancedRoutingStrategy,
  LocalStorageGatewaysProvider,
  NetworkGatewaysProvider,
  PingRoutingStrategy,
  PreferredWithFallbackRoutingStrategy,
  PriorityRoutingStrategy,
  RandomRoutingStrategy,
  RoundRobinRoutingStrategy,
  SimpleCacheGatewaysProvider,
  SimpleCacheRoutingStrategy,
  StaticGatewaysProvider,
  StaticRoutingStrategy,
  TrustedPeersGatewaysProvider,
  Wayfinder,
  WayfinderEmitter,
} from 'waypost';
import type {
  DataRetrievalStrategy,
  GatewaysProvider,
  Logger,
  RoutingOption,
  RoutingStrategy,
  RpcClientOptions,
  SortBy,
  SortOrder,
  TelemetrySettings,
  VerificationStrategy,
  WayfinderEvent,
  WayfinderEventArgs,
  WayfinderEvents,
  WayfinderFetch,
  WayfinderFetchOptions,
  WayfinderOptions,
  WayfinderRequestInit,
  WayfinderRoutingEventArgs,
  WayfinderURL,
  WayfinderURLParams,
  WayfinderVerificationEventArgs,
} from 'waypost';
import { expectTrue } from './assert.js';
import type { Clean, Same } from './assert.js';

const url = new URL('https://a.example');

// What users write themselves: nothing but the one method is needed.
const chooser = { selectGateway: async ({ gateways }: { gateways?: URL[] }) => gateways?.[0] ?? url };
const list = { getGateways: async () => [url] };
const asStrategy: RoutingStrategy = chooser;
const asProvider: GatewaysProvider = list;
const logger: Logger = console;
const verifier: VerificationStrategy = { trustedGateways: [url], verifyData: async ({ txId }) => void txId.length };
const retriever: DataRetrievalStrategy = { getData: async ({ requestUrl, headers = {} }) => fetch(requestUrl, { headers }) };

const strategies = [
  new RandomRoutingStrategy(),
  new RandomRoutingStrategy({ gatewaysProvider: list, logger }),
  new StaticRoutingStrategy({ gateway: 'https://a.example', logger }),
  new RoundRobinRoutingStrategy({ gateways: [url] }),
  new RoundRobinRoutingStrategy({ gatewaysProvider: list }),
  new FastestPingRoutingStrategy(),
  new FastestPingRoutingStrategy({ timeoutMs: 500, maxConcurrency: 50, probePath: '/', gatewaysProvider: list, logger }),
  new PingRoutingStrategy({ routingStrategy: chooser, retries: 5, timeoutMs: 1000, probePath: '/', gatewaysProvider: list }),
  new PreferredWithFallbackRoutingStrategy({ preferredGateway: 'https://a.example', fallbackStrategy: chooser }),
  new SimpleCacheRoutingStrategy({ routingStrategy: chooser, ttlSeconds: 300 }),
  new CompositeRoutingStrategy({ strategies: [chooser, new RandomRoutingStrategy()] }),
  new AdaptiveRoutingStrategy({ gatewaysProvider: list }),
  new LoadBalancedRoutingStrategy({ gatewaysProvider: list }),
  new FastestRoutingStrategy({ gatewaysProvider: list }),
  new LatencyWeightedRoutingStrategy({ gatewaysProvider: list }),
  new PriorityRoutingStrategy({ gatewaysProvider: list }),
] as const;
export const allAreStrategies: readonly RoutingStrategy[] = strategies;

export const allAreProviders: readonly GatewaysProvider[] = [
  new StaticGatewaysProvider({ gateways: ['https://a.example'] }),
  new TrustedPeersGatewaysProvider({ trustedGateway: url, timeoutMs: 10_000 }),
  new TrustedPeersGatewaysProvider({ trustedGateway: 'https://a.example', logger }),
  new SimpleCacheGatewaysProvider({ gatewaysProvider: list, ttlSeconds: 3600 }),
  new LocalStorageGatewaysProvider({ gatewaysProvider: list, ttlSeconds: 3600, cacheKey: 'gateways' }),
  new CompositeGatewaysProvider({ providers: [list] }),
];

// Every class, and every object that chooses, routes JSON-RPC as well.
for (const strategy of strategies) {
  expectTrue<typeof strategy extends NonNullable<RpcClientOptions['strategy']> ? true : false>();
  createRpcClient({ providers: ['https://a.example'], strategy });
}
createRpcClient({ providers: ['https://a.example'], strategy: chooser });
createRpcClient({ providers: ['https://a.example'], strategy: asStrategy });

const ping = new PingRoutingStrategy({ routingStrategy: chooser });
expectTrue<Same<typeof ping.retries, number>>();
expectTrue<Same<typeof ping.timeoutMs, number>>();
const chosen = await ping.selectGateway({ gateways: [url], path: '/', subdomain: 'a', signal: AbortSignal.timeout(1), exclude: [url] });
expectTrue<Same<typeof chosen, URL>>();
const preferred = new PreferredWithFallbackRoutingStrategy({ preferredGateway: 'https://a.example' });
expectTrue<Same<typeof preferred.preferredGateway, URL>>();
await preferred.selectGateway();
await new RandomRoutingStrategy().selectGateway();
const composite = new CompositeRoutingStrategy({ strategies: [chooser] });
expectTrue<Same<ReturnType<typeof composite.getStrategies>, RoutingStrategy[]>>();
composite.addStrategy(chooser);
new FastestRoutingStrategy({}).report({ gateway: url, ok: true, ms: 12 });

expectTrue<Same<RoutingOption, 'random' | 'fastest' | 'balanced' | 'preferred'>>();
expectTrue<Same<SortOrder, 'asc' | 'desc'>>();
expectTrue<'operatorStake' extends SortBy ? true : false>();
createRoutingStrategy({ strategy: 'balanced', gatewaysProvider: asProvider, logger });

// Both forms, whole.
export const nested: WayfinderOptions = {
  logger,
  fetch,
  gatewaysProvider: list,
  routingSettings: { strategy: chooser, events: { onRoutingFailed: (error) => expectTrue<Same<typeof error, Error>>() } },
  verificationSettings: { enabled: true, strategy: verifier, strict: true, raw: false, events: {} },
  telemetrySettings: { enabled: false, sampleRate: 0.1 },
  dataRetrievalStrategy: retriever,
};
export const flat: WayfinderFetchOptions = {
  logger,
  fetch,
  routingStrategy: chooser,
  verificationStrategy: verifier,
  strict: true,
  dataRetrievalStrategy: retriever,
  emitter: new WayfinderEmitter(),
  events: {},
};
createWayfinderClient(nested);
createWayfinderClient(flat);
createWayfinder();
new Wayfinder(nested);
const wayfinder = createWayfinderClient({ routingStrategy: new FastestPingRoutingStrategy({ timeoutMs: 500 }) });
expectTrue<Same<typeof wayfinder, Wayfinder>>();
wayfinder.setRoutingStrategy(chooser);

// Answers.
const response = await wayfinder.request('ar://ardrive');
expectTrue<typeof response extends Response ? true : false>();
expectTrue<URL extends NonNullable<typeof response.gateway> ? true : false>();
response.attempts?.map(({ provider, outcome, ms }) => `${provider} ${outcome} ${ms.toFixed()}`);
await wayfinder.request(new URL('ar://ardrive'), { method: 'POST', body: 'x', signal: AbortSignal.timeout(1) });
await wayfinder.request('ar://ardrive', { routingSettings: { events: { onRoutingStarted: () => undefined } } });
export const asFetch: WayfinderFetch = wayfinder.request;
export const init: WayfinderRequestInit = { headers: { range: 'bytes=0-1' }, redirect: 'manual' };
const resolved = await wayfinder.resolveUrl({ arnsName: 'ardrive' });
expectTrue<Same<typeof resolved, URL>>();
export const ways: WayfinderURLParams[] = [
  { originalUrl: 'https://arweave.net/x' },
  { wayfinderUrl: 'ar://ardrive' },
  { txId: 'c7wkwt6TKgcWJUfgvpJ5q5qi4DIZyJ1_TqhjXgURh0U' },
  { arnsName: 'ardrive' },
];
expectTrue<Same<WayfinderURL, `ar://${string}`>>();

// Events: each listener and callback gets the payload of its event.
interface Succeeded {
  originalUrl: string;
  selectedGateway: string;
  redirectUrl: string;
}
wayfinder.emitter.on('routing-started', ({ originalUrl }) => expectTrue<Same<typeof originalUrl, string>>());
wayfinder.emitter.on('routing-failed', (error) => expectTrue<Same<typeof error, Error>>());
wayfinder.emitter.on('routing-succeeded', ({ originalUrl, selectedGateway, redirectUrl }) => {
  const all: Succeeded = { originalUrl, selectedGateway, redirectUrl };
  return all;
});
expectTrue<WayfinderEvent['routing-succeeded'] extends Succeeded ? true : false>();
export const callbacks: WayfinderRoutingEventArgs = {
  onRoutingStarted: ({ originalUrl }) => originalUrl.length,
  onRoutingSkipped: ({ originalUrl }) => originalUrl.length,
  onRoutingSucceeded: ({ redirectUrl }) => redirectUrl.length,
  onRoutingFailed: ({ message }) => message.length,
};
const verifying: WayfinderVerificationEventArgs = { onVerificationProgress: ({ processedBytes }) => processedBytes.toFixed() };
export const all: WayfinderEvents = { ...callbacks, ...verifying };
export const wiring: WayfinderEventArgs = { routing: callbacks, verification: verifying, parentEmitter: wayfinder.emitter };
new WayfinderEmitter(wiring);
// @ts-expect-error an event that does not exist
wayfinder.emitter.on('routing-begun', () => undefined);
// @ts-expect-error only success knows where it led
wayfinder.emitter.on('routing-started', ({ redirectUrl }) => redirectUrl);
// @ts-expect-error a callback that does not exist
createWayfinderClient({ events: { onRoutingBegun: () => undefined } });

// Nothing of it is `any`.
// A request takes the platform's `Request`, which is full of it.
expectTrue<Clean<Omit<Wayfinder, 'request'>>>();
expectTrue<Clean<typeof response>>();
expectTrue<Clean<WayfinderOptions>>();
expectTrue<Clean<WayfinderFetchOptions>>();
expectTrue<Clean<TelemetrySettings>>();
expectTrue<Clean<RoutingStrategy>>();
expectTrue<Clean<typeof strategies>>();

// @ts-expect-error a misspelt option
new FastestPingRoutingStrategy({ timeoutMS: 500 });
// @ts-expect-error a number written as a string
new FastestPingRoutingStrategy({ timeoutMs: '500' });
// @ts-expect-error ping needs something to wrap
new PingRoutingStrategy({ retries: 5 });
// @ts-expect-error an object that cannot choose
new PingRoutingStrategy({ routingStrategy: { select: async () => url } });
// @ts-expect-error a choice is a URL, not its text
new PingRoutingStrategy({ routingStrategy: { selectGateway: async () => 'https://a.example' } });
// @ts-expect-error a list is not a provider
new RandomRoutingStrategy({ gatewaysProvider: [url] });
// @ts-expect-error a provider gives URLs, not texts
new RandomRoutingStrategy({ gatewaysProvider: { getGateways: async () => ['https://a.example'] } });
// @ts-expect-error gateways are URLs here
new RoundRobinRoutingStrategy({ gateways: ['https://a.example'] });
// @ts-expect-error a list, not one
new StaticGatewaysProvider({ gateways: 'https://a.example' });
// @ts-expect-error static needs its gateway
new StaticRoutingStrategy({});
// @ts-expect-error composite takes a list
new CompositeRoutingStrategy({ strategies: chooser });
// @ts-expect-error a report needs to say whether it went well
new FastestRoutingStrategy({}).report({ gateway: url, ms: 12 });
// @ts-expect-error a keyword that does not exist
createRoutingStrategy({ strategy: 'quickest' });
// @ts-expect-error an order that does not exist
new NetworkGatewaysProvider({ ario: { getGateways: async () => ({ items: [] }) }, sortOrder: 'up' });
// @ts-expect-error a misspelt option of the client
createWayfinderClient({ routingStrategi: chooser });
// @ts-expect-error a misspelt option further down
new Wayfinder({ routingSettings: { stratgy: chooser } });
// @ts-expect-error a keyword is not a strategy
createWayfinderClient({ routingStrategy: 'fastest' });
// @ts-expect-error a name is written with ar:// here
void wayfinder.resolveUrl({ wayfinderUrl: 'ardrive' });
// @ts-expect-error the class cannot be set where a strategy is meant
wayfinder.setRoutingStrategy(FastestPingRoutingStrategy);
