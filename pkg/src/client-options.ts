/** Options of the RPC client. */

import type { HedgeOptions } from './hedging.js';
import type { CacheOptions } from './reuse.js';
import type { AttemptClass, ParseMode, RoutingStrategy, StrategyWord } from './types.js';

/**
 * What to do with an error of one provider that is worded in its own way. All that is given must match.
 * @example { code: -32000, messageContains: ['out of credits', 'plan limit'], class: 'rate_limit' }
 */
export interface ErrorRule {
  code?: number;
  status?: number;
  /** Any of these, in any case. */
  messageContains?: string | string[];
  class: Exclude<AttemptClass, 'abort'>;
}

/**
 * One provider.
 * @example { id: 'own', url: 'https://own.example', headers: { 'x-key': key }, priority: 1, rateLimit: { rps: 25 } }
 */
export interface ProviderOptions {
  /** Shown in metadata, events and errors. Default: the host of the URL, numbered if it repeats. */
  id?: string;
  /** `https:` or `http:`. Credentials in it become an `Authorization` header. Never shown. */
  url: string | URL;
  /** Sent with every request. Never shown. */
  headers?: Record<string, string>;
  /** Lower goes first under `priority`. Default 100. */
  priority?: number;
  /** Requests per second, and at once after a rest; enforced before sending. */
  rateLimit?: { rps: number; burst?: number };
  /** Providers with the same group share their rate limits. Default: the origin of the URL. */
  quotaGroup?: string;
  capabilities?: {
    /** A trailing `*` stands for any rest: `debug_*`. */
    unsupportedMethods?: string[];
    /** Blocks that one `eth_getLogs` may span. */
    maxBlockRange?: number;
  };
  errorRules?: ErrorRule[];
}

/**
 * One chain.
 * @example { chainId: 8453, aliases: ['base-mainnet'], providers: ['https://a.example', 'https://b.example'] }
 */
export interface ChainOptions {
  /** EIP-155 id. */
  chainId?: number;
  aliases?: string[];
  providers: (string | URL | ProviderOptions)[];
}

/**
 * What a profile, or the client for all of them, decides.
 * @example { strategy: 'latency_weighted', deadlineMs: 5000, circuitBreaker: { recoveryMs: 30_000 } }
 */
export interface RoutingOptions {
  /** Default `load_balanced`. */
  strategy?: StrategyWord | RoutingStrategy;
  strategies?: {
    fastest?: {
      /** Fresh calls before a provider qualifies: 0 to 32, default 3. */
      minCalls?: number;
      /** 0 to 1, default 0.9. */
      minSuccessRate?: number;
    };
    latencyWeighted?: {
      /** Exponent of the latency ratio: 0 to 10, default 3. */
      beta?: number;
      /** Latencies below this count as this: 0.001 to 60,000 ms, default 30. */
      msFloor?: number;
      /** Smallest weight: 0 to 1, default 0.05. */
      exploreFloor?: number;
      /** Fresh calls before the weight counts in full: 0 to 32, default 3. */
      minCalls?: number;
      /** 0 to 1, default 0.85. */
      minSuccessRate?: number;
    };
  };
  /** Time for a whole request: 1 to 86,400,000 ms. Default 10 s; 60 s for `eth_getLogs`, `debug_*`, `trace_*`. */
  deadlineMs?: number;
  /** Time for one attempt: 1 to 86,400,000 ms. Default: by method, 2.5 s to 45 s. */
  attemptTimeoutMs?: number;
  /** Attempts per request: 1 to 64. Default: 4, or the number of providers up to 16 if larger. */
  maxAttempts?: number;
  circuitBreaker?: {
    /** Consecutive failures that open, for every class that `thresholds` does not name: 1 to 1000. */
    failureThreshold?: number;
    /** Per class, 1 to 1000. Defaults: server 5, network 3, timeout 2, auth 3. */
    thresholds?: { server?: number; network?: number; timeout?: number; auth?: number };
    /** From open to half-open: 10 to 3,600,000 ms, default 10,000. Doubles with every failed trial. */
    recoveryMs?: number;
    /** 10 to 86,400,000 ms, default 300,000. */
    maxRecoveryMs?: number;
    /** Successful trials that close: 1 to 100, default 2. */
    successThreshold?: number;
    /** Random lengthening as a share of the time: 0 to 1, default 0.05. */
    jitter?: number;
  };
  rateLimit?: {
    /** When a provider names no time: 0 to 3,600,000 ms, default 30,000. */
    defaultMs?: number;
    /** Whatever a provider says: 0 to 86,400,000 ms, default 300,000. */
    maxMs?: number;
  };
  /** Second attempts beside slow ones: `true` for the defaults. Default `false`. */
  hedge?: boolean | HedgeOptions;
  /** What comes first: a closed breaker (default, as Lasso documents) or an unspent quota. */
  tierOrder?: 'closed-first' | 'unlimited-first';
  /** Whether a request that names its provider may go to others. Default false. */
  failoverOnOverride?: boolean;
}

/**
 * One isolated set of chains.
 * @example { strategy: 'priority', chains: { ethereum: { chainId: 1, providers: ['https://a.example'] } } }
 */
export interface ProfileOptions extends RoutingOptions {
  chains: Record<string, ChainOptions>;
}

/**
 * Options of {@link createRpcClient}. Exactly one of `providers`, `chains` and `profiles` is needed.
 * @example { providers: ['https://a.example', { url: 'https://b.example', priority: 200 }], strategy: 'priority' }
 */
export interface RpcClientOptions extends RoutingOptions {
  /** The providers of one chain. */
  providers?: (string | URL | ProviderOptions)[];
  /** Several chains by id. */
  chains?: Record<string, ChainOptions>;
  /** Several sets of chains, which share nothing. */
  profiles?: Record<string, ProfileOptions>;
  /** The chain of requests that name none, if there are several. */
  defaultChain?: string;
  /** How results are read. Default `json`. */
  parse?: ParseMode;
  /**
   * Whether equal requests that may be repeated share one call while it is under way. Every caller gets a copy, and whoever stops
   * waiting stops only for himself. For `request()` only; without effect in Workers, where requests cannot share what they wait for. Default false.
   */
  singleFlight?: boolean;
  /** Whether answers to `request()` that cannot change are kept for a while: blocks by hash, mined transactions and receipts, chain ids. Default false. */
  cache?: boolean | CacheOptions;
  /** Used instead of the global `fetch`, which is otherwise looked up at every call. */
  fetch?: typeof fetch;
  /** Monotonic clock in milliseconds. Default `performance.now`. */
  now?: () => number;
  /** Makes every random choice repeatable. Any finite number. */
  seed?: number;
}
