/** Everything that users of the RPC half write and read. */

/** Strategies by name. Hyphens work as well as underscores; `round_robin` is `load_balanced`. */
export type StrategyName = 'load_balanced' | 'fastest' | 'latency_weighted' | 'priority';

/** What may be written where a strategy is named. */
export type StrategyWord = StrategyName | 'round_robin' | 'load-balanced' | 'latency-weighted' | 'round-robin';

/** What a routing strategy is told. */
export interface RoutingParams {
  /** The list to choose from; a strategy without one has its own. */
  gateways?: URL[];
  /** Path and query of the content that is asked for. */
  path?: string;
  /** Goes before the gateway's host name: an ArNS name, or an id in base 32. */
  subdomain?: string;
  /** The caller's. */
  signal?: AbortSignal;
  /** Those that have been asked for this request: do not choose them. */
  exclude?: readonly URL[];
}

/** Any object that picks a URL out of several. Its choice is asked first, the others after it. */
export interface RoutingStrategy {
  /** Shown in metadata; `custom` without one. */
  readonly name?: string;
  selectGateway(params: RoutingParams): Promise<URL> | URL;
}

/** State of a circuit breaker: closed means that traffic flows. */
export type CircuitState = 'closed' | 'open' | 'half-open';

/** Who is to blame for a failed attempt. */
export type AttemptClass =
  | 'revert'
  | 'caller'
  | 'rate_limit'
  | 'capability'
  | 'block_missing'
  | 'server'
  | 'network'
  | 'timeout'
  | 'auth'
  | 'abort'
  | 'unknown';

/** One attempt at one provider: a result without a class, or a failure with one. */
export type AttemptRecord = {
  /** The provider's id, never its URL; the gateway's host for content. */
  readonly provider: string;
  /** Whole milliseconds. */
  readonly ms: number;
} & (
  | { readonly outcome: 'success'; readonly class?: undefined }
  | { readonly outcome: 'error' | 'abandoned'; readonly class: AttemptClass }
);

/** How a request was routed. */
export interface RoutingMeta {
  readonly request_id: string;
  readonly strategy: string;
  readonly chain: string;
  readonly profile: string;
  readonly transport: 'http';
  readonly selected_provider?: { readonly id: string };
  /** Time spent waiting for providers, over all attempts. */
  readonly upstream_latency_ms: number;
  readonly end_to_end_latency_ms: number;
  /** Attempts after the first. */
  readonly retries: number;
  /** Of the selected provider, after the request. */
  readonly circuit_breaker_state?: CircuitState;
  /** Those whose breakers admit traffic, in the order expected when the request ended. */
  readonly candidate_providers: readonly string[];
  readonly attempts: readonly AttemptRecord[];
}

/** How results are read. */
export type ParseMode =
  /** `JSON.parse`: the default. Integers above 2^53 lose digits, as everywhere. */
  | 'json'
  /** The text of the result, character by character. */
  | 'raw'
  /** Like `json`, but integers that a number cannot hold become `bigint`. */
  | 'bigint';

/** An EIP-1193 request. */
export interface RpcRequest {
  readonly method: string;
  readonly params?: readonly unknown[] | object | undefined;
}

/**
 * What one call may decide for itself.
 * @example await rpc.request({ method: 'eth_blockNumber' }, { chain: 'base', strategy: 'fastest', deadlineMs: 2000 })
 */
export interface RequestOptions {
  /** Chain by id, alias or decimal chain id; needed only if there are several. */
  chain?: string | number;
  /** Default `default`, or the only one. */
  profile?: string;
  strategy?: StrategyWord | RoutingStrategy;
  /** Only this provider may answer. */
  provider?: string;
  /** Others may answer if `provider` fails. Default: the client's setting. */
  failoverOnOverride?: boolean;
  signal?: AbortSignal;
  /** Time for the whole request in milliseconds, 1 to 86,400,000. */
  deadlineMs?: number;
  parse?: ParseMode;
}

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
  /** Not available yet; only `false` is accepted. */
  hedge?: false;
  /** Used instead of the global `fetch`, which is otherwise looked up at every call. */
  fetch?: typeof fetch;
  /** Monotonic clock in milliseconds. Default `performance.now`. */
  now?: () => number;
  /** Makes every random choice repeatable. Any finite number. */
  seed?: number;
}

/** A JSON-RPC request object. */
export interface JsonRpcRequest {
  jsonrpc?: '2.0';
  id?: string | number | null;
  method: string;
  params?: readonly unknown[] | object;
}

/** A JSON-RPC response object. */
export interface JsonRpcResponse {
  jsonrpc: '2.0';
  id: string | number | null;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** What {@link RpcClient.send} answers. */
export interface SendResult<R> {
  response: R;
  meta: RoutingMeta;
}

/** Why a provider stands where it stands. */
export type ExplanationReason =
  | 'circuit_open'
  | 'on_trial'
  | 'trial_due'
  | 'rate_limited'
  | 'resting'
  | 'unsupported'
  | 'unproven'
  | 'healthy';

/** One row of {@link RpcClient.explain}. */
export interface Explanation {
  provider: string;
  /** Expected place, from 1; `null` while excluded. */
  rank: number | null;
  /** Health tier, 1 the best; `null` while excluded. */
  tier: number | null;
  reason: ExplanationReason;
  /** The reason in a sentence. */
  text: string;
  circuit: CircuitState;
  reopensInMs: number;
  limitedForMs: number;
  restingForMs: number;
  latencyMs: number | null;
  successRate: number;
  calls: number;
  qualified: boolean;
  priority: number;
  /** Chance to be asked first. */
  share: number;
}

/** One provider in {@link RpcClient.status}. */
export interface ProviderStatus {
  id: string;
  circuit: CircuitState;
  reopensInMs: number;
  consecutiveFailures: number;
  limitedForMs: number;
  restingForMs: number;
  inFlight: number;
  total: number;
  latencyMs: number | null;
  successRate: number;
  calls: number;
  head: number | null;
  methods: MethodStatus[];
}

/** One provider's numbers for one method. */
export interface MethodStatus {
  method: string;
  transport: 'http';
  latencyMs: number | null;
  p95Ms: number | null;
  successRate: number;
  calls: number;
  total: number;
  lastUsedMsAgo: number | null;
}

/** Everything that the client knows of its providers. */
export interface ClientStatus {
  profiles: Record<string, Record<string, { chainId?: number; providers: ProviderStatus[] }>>;
  openRequests: number;
}

/** Where something happened. */
interface Place {
  profile: string;
  chain: string;
}

/** An attempt has ended. */
export type AttemptEvent = AttemptRecord & Place & { method: string };

/** A request has ended: with the answer of a provider, or without one. */
export type RequestEvent = Place & {
  method: string;
  strategy: string;
  attempts: readonly AttemptRecord[];
  ms: number;
} & (
  | { outcome: 'success'; provider: string }
  | { outcome: 'error'; provider: string }
  | { outcome: 'failed'; provider?: undefined }
  | { outcome: 'aborted'; provider?: undefined }
);

/** A breaker has changed its state. */
export interface CircuitEvent extends Place {
  provider: string;
  state: CircuitState;
}

/** A provider asked for fewer requests. */
export interface RateLimitEvent extends Place {
  provider: string;
  forMs: number;
}

/** Events by name. Any other name is accepted and never fires: libraries subscribe to EIP-1193's. */
export interface ClientEvents {
  attempt: AttemptEvent;
  request: RequestEvent;
  circuit: CircuitEvent;
  ratelimit: RateLimitEvent;
}

/**
 * Any event with its name, for a function that takes them all.
 * @example rpc.on('circuit', (event) => log({ name: 'circuit', ...event }))
 */
export type ClientEvent = { [Name in keyof ClientEvents]: { name: Name } & ClientEvents[Name] }[keyof ClientEvents];
