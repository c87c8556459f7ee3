/** Everything that users of the RPC half read, and write with each request. Options of a client are in `client-options.ts`. */

export type * from './client-options.js';

/** Strategies by name. Hyphens work as well as underscores; `round_robin` is `load_balanced`. */
export type StrategyName = 'load_balanced' | 'fastest' | 'latency_weighted' | 'priority' | 'adaptive';

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
