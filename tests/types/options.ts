/** Options of the client and of its calls: what is offered compiles, what is misspelt does not. */

import { createRpcClient } from 'waypost';
import type { CacheOptions, ErrorRule, HedgeOptions, ProviderOptions, RequestOptions, RoutingStrategy, RpcClientOptions, StrategyName } from 'waypost';
import { expectTrue } from './assert.js';
import type { Same } from './assert.js';

const url = 'https://a.example';

const provider: ProviderOptions = {
  id: 'a',
  url: new URL(url),
  headers: { authorization: 'Bearer key' },
  priority: 1,
  rateLimit: { rps: 10, burst: 20 },
  quotaGroup: 'account-1',
  capabilities: { unsupportedMethods: ['debug_*'], maxBlockRange: 10_000 },
  errorRules: [{ code: -32000, status: 200, messageContains: ['busy', 'later'], class: 'rate_limit' }],
};

const chooser: RoutingStrategy = { selectGateway: async ({ gateways }) => gateways?.[0] ?? new URL(url) };

createRpcClient({ providers: [url, new URL(url), provider] });

export const everything: RpcClientOptions = {
  profiles: {
    default: { chains: { ethereum: { chainId: 1, aliases: ['mainnet'], providers: [provider] } } },
    testnet: { strategy: chooser, maxAttempts: 2, chains: { sepolia: { providers: [url] } } },
  },
  defaultChain: 'ethereum',
  strategy: 'latency-weighted',
  strategies: {
    fastest: { minCalls: 3, minSuccessRate: 0.9 },
    latencyWeighted: { beta: 3, msFloor: 30, exploreFloor: 0.05, minCalls: 3, minSuccessRate: 0.85 },
  },
  deadlineMs: 10_000,
  attemptTimeoutMs: 2_000,
  maxAttempts: 4,
  circuitBreaker: {
    failureThreshold: 5,
    thresholds: { server: 5, network: 3, timeout: 2, auth: 3 },
    recoveryMs: 10_000,
    maxRecoveryMs: 300_000,
    successThreshold: 2,
    jitter: 0.05,
  },
  rateLimit: { defaultMs: 30_000, maxMs: 300_000 },
  tierOrder: 'unlimited-first',
  failoverOnOverride: true,
  parse: 'bigint',
  hedge: { quantile: 0.9, budget: 0.1, maxExtra: 2, methods: ['eth_call', 'eth_sendRawTransaction'] },
  singleFlight: true,
  cache: { ttlMs: 15_000, maxEntries: 256 },
  fetch,
  now: () => performance.now(),
  seed: 42,
};

export const call: RequestOptions = {
  chain: 1,
  profile: 'default',
  strategy: 'fastest',
  provider: 'a',
  failoverOnOverride: true,
  signal: AbortSignal.timeout(1000),
  deadlineMs: 1000,
  parse: 'raw',
};

for (const isOn of [true, false]) createRpcClient({ providers: [url], hedge: isOn, singleFlight: isOn, cache: isOn });
createRpcClient({ profiles: { p: { hedge: true, chains: { ethereum: { providers: [url] } } } }, strategy: 'adaptive' });
expectTrue<Same<RpcClientOptions['hedge'], boolean | HedgeOptions | undefined>>();
expectTrue<Same<RpcClientOptions['cache'], boolean | CacheOptions | undefined>>();
expectTrue<Same<keyof HedgeOptions, 'quantile' | 'budget' | 'maxExtra' | 'methods'>>();
expectTrue<Same<keyof CacheOptions, 'ttlMs' | 'maxEntries'>>();

expectTrue<Same<StrategyName, 'load_balanced' | 'fastest' | 'latency_weighted' | 'priority' | 'adaptive'>>();

// @ts-expect-error a misspelt key of the client
createRpcClient({ provider: [url] });
// @ts-expect-error a misspelt key further down
createRpcClient({ providers: [url], circuitBreaker: { recoverMs: 1 } });
// @ts-expect-error a misspelt key of a provider
createRpcClient({ providers: [{ url, header: {} }] });
// @ts-expect-error a provider without a URL
createRpcClient({ providers: [{ id: 'a' }] });
// @ts-expect-error a chain without providers
createRpcClient({ chains: { ethereum: { chainId: 1 } } });
// @ts-expect-error a strategy that does not exist
createRpcClient({ providers: [url], strategy: 'quickest' });
// @ts-expect-error a strategy that mixes two spellings
createRpcClient({ providers: [url], strategy: 'latencyWeighted' });
// @ts-expect-error an object that cannot choose
createRpcClient({ providers: [url], strategy: { select: () => new URL(url) } });
// @ts-expect-error a number written as a string
createRpcClient({ providers: [url], deadlineMs: '10s' });
// @ts-expect-error a rate without a rate
createRpcClient({ providers: [{ url, rateLimit: { burst: 5 } }] });
// @ts-expect-error a misspelt key of hedging
createRpcClient({ providers: [url], hedge: { quantil: 0.9 } });
// @ts-expect-error one method is no list of methods
createRpcClient({ providers: [url], hedge: { methods: 'eth_call' } });
// @ts-expect-error hedging is on or off
createRpcClient({ providers: [url], hedge: 'on' });
// @ts-expect-error a misspelt key of the cache
createRpcClient({ providers: [url], cache: { ttl: 15 } });
// @ts-expect-error the life of an answer is a number
createRpcClient({ providers: [url], cache: { ttlMs: '15s' } });
// @ts-expect-error sharing is on or off
createRpcClient({ providers: [url], singleFlight: {} });
// @ts-expect-error sharing is the client's choice, not a call's
export const sharing: RequestOptions = { singleFlight: true };
// @ts-expect-error no such way to parse
createRpcClient({ providers: [url], parse: 'text' });
// @ts-expect-error a rule for errors cannot make an abort
export const abortRule: ErrorRule = { code: 1, class: 'abort' };
// @ts-expect-error a rule for errors needs a class
export const emptyRule: ErrorRule = { code: 1 };

const rpc = createRpcClient({ providers: [url] });
// @ts-expect-error a misspelt option of a call
void rpc.request({ method: 'eth_chainId' }, { timeoutMs: 1 });
// @ts-expect-error a controller is not its signal
void rpc.request({ method: 'eth_chainId' }, { signal: new AbortController() });
// @ts-expect-error a bound provider takes neither a signal nor a deadline
rpc.chain('ethereum', { deadlineMs: 1 });
