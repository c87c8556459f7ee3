/** Everything that users of the content half write and read. */

import type { ContentOptions } from '../gateway-core.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { AttemptRecord, RoutingStrategy } from '../types.js';
import type { WayfinderEmitter } from './events.js';

/** A body, as a verification strategy reads it. */
export type DataStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Checks data against its id. Waypost has none of its own yet: bring one. */
export interface VerificationStrategy {
  readonly trustedGateways?: URL[];
  /** Rejects if the data is not what the id stands for. It must read `data` to its end. */
  verifyData(params: { data: DataStream; headers: Record<string, string>; txId: string; raw?: boolean }): Promise<void>;
}

/** Fetches what has been routed, in place of `fetch`. */
export interface DataRetrievalStrategy {
  /** Resolves to the answer for `requestUrl`. It is asked for ids and names that are read by GET, once per gateway. */
  getData(params: { gateway: URL; requestUrl: URL; headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>;
}

/** What happens on the way. Each event fires once per request, progress excepted. */
export interface WayfinderEvent {
  'routing-started': { originalUrl: string };
  /** The address is not one of `ar://`: it is fetched as it is. */
  'routing-skipped': { originalUrl: string };
  /** An answer is there, from this gateway. */
  'routing-succeeded': { originalUrl: string; selectedGateway: string; redirectUrl: string };
  /** There is no answer: no gateway had one, the address is wrong, or the caller's signal has fired. */
  'routing-failed': Error;
  'verification-succeeded': { txId: string };
  'verification-failed': Error;
  /** `totalBytes` is 0 if the gateway does not say. */
  'verification-progress': { txId: string; processedBytes: number; totalBytes: number };
}

/** Callbacks for routing. */
export interface WayfinderRoutingEventArgs {
  onRoutingStarted?: (event: WayfinderEvent['routing-started']) => void;
  onRoutingSkipped?: (event: WayfinderEvent['routing-skipped']) => void;
  onRoutingSucceeded?: (event: WayfinderEvent['routing-succeeded']) => void;
  onRoutingFailed?: (event: WayfinderEvent['routing-failed']) => void;
}

/** Callbacks for verification. */
export interface WayfinderVerificationEventArgs {
  onVerificationSucceeded?: (event: WayfinderEvent['verification-succeeded']) => void;
  onVerificationFailed?: (event: WayfinderEvent['verification-failed']) => void;
  onVerificationProgress?: (event: WayfinderEvent['verification-progress']) => void;
}

/** All callbacks in one bag. */
export interface WayfinderEvents extends WayfinderRoutingEventArgs, WayfinderVerificationEventArgs {}

/** How to route. */
export interface RoutingSettings {
  /** Who chooses. Default of {@link Wayfinder}: pings of random gateways. */
  strategy?: RoutingStrategy | undefined;
  /** Called as events happen. */
  events?: WayfinderRoutingEventArgs | undefined;
}

/** Whether and how to verify. */
export interface VerificationSettings {
  /** Default: whether there is a strategy. */
  enabled?: boolean;
  /** Who verifies: an object of yours. */
  strategy?: VerificationStrategy | undefined;
  /** A body that fails ends with an error, and its last byte waits for the verdict. Default false: events only. */
  strict?: boolean;
  /** Passed on to the strategy. Default false. */
  raw?: boolean;
  /** Called as events happen. */
  events?: WayfinderVerificationEventArgs | undefined;
}

/** Accepted for Wayfinder's sake: Waypost never reports to anybody. */
export interface TelemetrySettings {
  enabled: boolean;
  sampleRate?: number | undefined;
  apiKey?: string | undefined;
  exporterUrl?: string | undefined;
  clientName?: string | undefined;
  clientVersion?: string | undefined;
}

/** What both forms of the options have. */
interface CommonOptions extends ContentOptions {
  /** Used for everything instead of the global `fetch`, which is otherwise looked up at every call. */
  fetch?: typeof fetch;
  /** For strategies that bring no list. Default: the peers of turbo-gateway.com. */
  gatewaysProvider?: GatewaysProvider;
  /** Fetches ids and names in place of `fetch`. */
  dataRetrievalStrategy?: DataRetrievalStrategy | undefined;
  /** Longest silence of a body that is being read: 1 to 86,400,000 ms, default 30,000. */
  idleTimeoutMs?: number;
  /** Accepted for Wayfinder's sake, without effect. */
  telemetrySettings?: TelemetrySettings;
  /** Accepted for Wayfinder's sake, without effect. */
  logger?: Logger;
}

/** Options of {@link Wayfinder}. */
export interface WayfinderOptions extends CommonOptions {
  /** Who chooses gateways, and who hears of it. */
  routingSettings?: RoutingSettings;
  /** Whether and how bodies are verified. Default: not. */
  verificationSettings?: VerificationSettings;
}

/** The flat form of the options, for {@link createWayfinderClient}. It may be mixed with the other. */
export interface WayfinderFetchOptions extends CommonOptions {
  /** Who chooses. Default: random peers of turbo-gateway.com. */
  routingStrategy?: RoutingStrategy | undefined;
  /** Who verifies: an object of yours. Default: nobody. */
  verificationStrategy?: VerificationStrategy | undefined;
  /** As {@link VerificationSettings.strict}. */
  strict?: boolean;
  /** Called as events happen. */
  events?: WayfinderEvents | undefined;
  /** Gets every event as well. */
  emitter?: Pick<WayfinderEmitter, 'emit'>;
  /** Accepted for Wayfinder's sake, without effect. */
  tracer?: unknown;
}

/** What an emitter is made from. */
export interface WayfinderEventArgs {
  routing?: WayfinderRoutingEventArgs | undefined;
  verification?: WayfinderVerificationEventArgs | undefined;
  /** Gets every event after the listeners of the emitter itself. */
  parentEmitter?: Pick<WayfinderEmitter, 'emit'> | undefined;
}

/** A `fetch` that knows `ar://`. */
export type WayfinderFetch = (input: string | URL | Request, init?: WayfinderRequestInit) => Promise<WayfinderResponse>;

/** What one request may decide for itself. */
export interface WayfinderRequestInit extends RequestInit {
  /** In place of the client's strategy; callbacks are called besides the client's. */
  routingSettings?: RoutingSettings;
  /** In place of the client's. A strategy is used without saying `enabled`. */
  verificationSettings?: VerificationSettings;
}

/** An answer, and who gave it. A `clone()` has only what every response has. */
export interface WayfinderResponse extends Response {
  /** The gateway that answered, the same object that its list has; nothing if the address was not `ar://`. */
  readonly gateway?: URL;
  /** Every attempt, by the gateway's host. */
  readonly attempts?: readonly AttemptRecord[];
}
