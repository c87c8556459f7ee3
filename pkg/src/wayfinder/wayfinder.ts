/** The content client. */

import { NONE } from '../engine.js';
import { abortError } from '../errors.js';
import { GatewayCore } from '../gateway-core.js';
import type { GatewaysProvider } from '../gateways/types.js';
import { readStatus } from '../report.js';
import { PingRoutingStrategy } from '../routing/ping.js';
import { RandomRoutingStrategy } from '../routing/random.js';
import { run } from '../run.js';
import { Ticket } from '../ticket.js';
import type { ProviderStatus, RoutingStrategy } from '../types.js';
import { answerOf, watched } from './body.js';
import { defaultPeers } from './defaults.js';
import { ContentErrand } from './errand.js';
import type { Arrival } from './errand.js';
import { WayfinderEmitter } from './events.js';
import { injectProvider } from './inject.js';
import { checkOptions, checkSettings, verificationOf } from './options.js';
import { Selection } from './selection.js';
import { splitRequest, withInput } from './input.js';
import type {
  DataRetrievalStrategy,
  RoutingSettings,
  TelemetrySettings,
  VerificationSettings,
  VerificationStrategy,
  WayfinderOptions,
  WayfinderRequestInit,
  WayfinderResponse,
} from './types.js';
import { createWayfinderUrl, gatewayUrl, isArUrl, parseArUrl } from './url.js';
import type { Target, WayfinderURLParams } from './url.js';
import { checkVerification, verified } from './verification.js';

/** Longest silence of a body that is being read. */
const IDLE_MS = 30_000;
/** Time that a strategy has for all its choices in one request. Whom it has named by then is asked without it. */
const CHOICE_MS = 15_000;

/**
 * Fetches content of `ar://` addresses from the gateway that a routing strategy chooses, and from the next one if
 * that fails.
 *
 * @example
 * const wayfinder = new Wayfinder();
 * const response = await wayfinder.request('ar://ardrive');
 * console.log(response.gateway?.host, await response.text());
 */
export class Wayfinder {
  /** For strategies that bring no list. */
  readonly gatewaysProvider: GatewaysProvider;
  /** The strategy in force, and the callbacks. */
  readonly routingSettings: RoutingSettings & { strategy: RoutingStrategy };
  /** Whether and how bodies are verified. */
  readonly verificationSettings: VerificationSettings & { enabled: boolean };
  /** Kept for Wayfinder's sake: nothing is ever reported. */
  readonly telemetrySettings: TelemetrySettings;
  /** Where events arrive. */
  readonly emitter: WayfinderEmitter;
  readonly #core: GatewayCore;
  readonly #idleMs: number;
  readonly #choiceMs: number;
  readonly #retrieval: DataRetrievalStrategy | undefined;

  /** @throws WaypostError an option is wrong; the message has its name, what was seen and what is allowed */
  constructor(options: WayfinderOptions = {}) {
    checkOptions(options);
    const { gatewaysProvider, routingSettings, verificationSettings, telemetrySettings, dataRetrievalStrategy } = options;
    this.gatewaysProvider = gatewaysProvider ?? defaultPeers(options.fetch);
    const strategy =
      routingSettings?.strategy ??
      new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider: this.gatewaysProvider }) });
    injectProvider(strategy, this.gatewaysProvider);
    this.routingSettings = { events: {}, ...routingSettings, strategy };
    this.verificationSettings = verificationOf(verificationSettings);
    this.telemetrySettings = { ...telemetrySettings, enabled: telemetrySettings?.enabled ?? false };
    this.emitter = new WayfinderEmitter({ routing: this.routingSettings.events, verification: verificationSettings?.events });
    this.#core = new GatewayCore(options, options.fetch);
    this.#idleMs = options.idleTimeoutMs ?? IDLE_MS;
    this.#choiceMs = Math.min(CHOICE_MS, options.deadlineMs ?? CHOICE_MS);
    this.#retrieval = dataRetrievalStrategy;
    // So that `const { request } = wayfinder` works.
    this.request = this.request.bind(this);
    this.resolveUrl = this.resolveUrl.bind(this);
  }

  /**
   * Fetches an address. Those that do not begin with `ar://` are fetched as they are.
   *
   * Another gateway is asked after a network error, after 5xx and 429, and if there are no headers for too long; none
   * is asked twice. Any other status is an answer. If nobody has a better one, the last 5xx or 429 is returned.
   *
   * @param input an address, or a `Request` for one
   * @param init as for `fetch`; `routingSettings` and `verificationSettings` are those of this request alone
   * @throws WaypostError no gateway has answered; `attempts` tells more
   * @throws the strategy's error if it knows no gateway
   * @throws the signal's reason when `signal` fires, as `fetch` does
   *
   * @example
   * const response = await wayfinder.request('ar://ardrive/logo.png', { signal: AbortSignal.timeout(5000) });
   */
  async request(input: string | URL | Request, init?: WayfinderRequestInit): Promise<WayfinderResponse> {
    const { originalUrl, request, own } = splitRequest(input, init ?? {});
    checkSettings(own);
    const { routingSettings, verificationSettings } = own;
    const emitter = new WayfinderEmitter({
      routing: routingSettings?.events,
      verification: verificationSettings?.events,
      parentEmitter: this.emitter,
    });
    if (!isArUrl(originalUrl)) {
      emitter.emit('routing-skipped', { originalUrl });
      return this.#core.fetch(input, request);
    }
    emitter.emit('routing-started', { originalUrl });
    try {
      const settings = verificationOf({ ...this.verificationSettings, ...verificationSettings }, verificationSettings);
      const target = parseArUrl(originalUrl);
      const sent = await withInput(input, request);
      const strategy = routingSettings?.strategy ?? this.routingSettings.strategy;
      injectProvider(strategy, this.gatewaysProvider);
      const signal = sent.signal ?? undefined;
      const { arrival, ticket } = await this.#fetch(strategy, target, sent, signal);
      const { gateway, url } = arrival;
      const selectedGateway = gateway.toString();
      emitter.emit('routing-succeeded', { originalUrl, selectedGateway, redirectUrl: url.toString() });
      let broken: unknown;
      const body = this.#body(arrival, target, settings, signal, emitter, (error) => (broken = error));
      return answerOf(arrival, body, ticket.records(), () => broken);
    } catch (error) {
      emitter.emit('routing-failed', error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  /**
   * The URL on the gateway that the strategy chooses. Nothing is fetched.
   *
   * @param params exactly one of `originalUrl`, `wayfinderUrl`, `txId` and `arnsName`
   * @throws Error `Invalid URL …`, or the strategy's error
   *
   * @example
   * const url = await wayfinder.resolveUrl({ arnsName: 'ardrive' });
   */
  async resolveUrl(params: WayfinderURLParams): Promise<URL> {
    const target = parseArUrl(createWayfinderUrl(params));
    const { strategy } = this.routingSettings;
    injectProvider(strategy, this.gatewaysProvider);
    const selection = new Selection(this.#core, strategy, target, undefined, this.#choiceMs);
    try {
      return gatewayUrl(await selection.once(), target);
    } finally {
      selection.end();
    }
  }

  /** Routes by another strategy from the next request on. */
  setRoutingStrategy(strategy: RoutingStrategy): void {
    checkSettings({ routingSettings: { strategy } });
    this.routingSettings.strategy = strategy;
  }

  /** Verifies by another strategy from the next request on, also if nobody did before. */
  setVerificationStrategy(strategy: VerificationStrategy): void {
    checkSettings({ verificationSettings: { strategy } });
    this.verificationSettings.strategy = strategy;
    this.verificationSettings.enabled = true;
  }

  /**
   * Verifies from the next request on.
   *
   * @param options.strict whether a body that fails ends with an error; false by default
   * @param options.strategy who verifies; by default the one that is set
   * @throws WaypostError there is no strategy
   */
  enableVerification({ strict = false, strategy = this.verificationSettings.strategy }: Pick<VerificationSettings, 'strict' | 'strategy'> = {}): void {
    checkVerification({ enabled: true, strategy });
    Object.assign(this.verificationSettings, { enabled: true, strict, strategy });
  }

  /** Stops verifying. */
  disableVerification(): void {
    this.verificationSettings.enabled = false;
  }

  /** Breaker, limits and measurements of every gateway that is known, by its host. */
  status(): ProviderStatus[] {
    return readStatus(this.#core).profiles['default']?.['content']?.providers ?? [];
  }

  async #fetch(
    chooser: RoutingStrategy,
    target: Target,
    request: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<{ arrival: Arrival; ticket: Ticket }> {
    const core = this.#core;
    const method = (request.method ?? 'GET').toUpperCase();
    const { pool } = core.topology;
    const route = { pool, method, strategy: NONE, only: NONE, first: NONE, deadlineMs: undefined, blockSpan: -1, chooser };
    const ticket = Ticket.open(core, route);
    const selection = new Selection(core, chooser, target, signal, this.#choiceMs);
    // A retrieval strategy knows of nothing but reading data.
    const isData = method === 'GET' && (target.txId ?? target.arnsName) !== undefined;
    const errand = new ContentErrand(core, ticket, selection, request, isData ? this.#retrieval : undefined);
    const ending = await run(ticket, errand, signal).finally(() => selection.end());
    ticket.close({ kind: 'aborted' });
    if (ending === undefined) throw signal?.reason ?? abortError(undefined);
    if ('error' in ending) throw ending.error;
    return { arrival: ending.arrival, ticket };
  }

  #body(
    arrival: Arrival,
    target: Target,
    settings: VerificationSettings & { enabled: boolean },
    signal: AbortSignal | undefined,
    emitter: WayfinderEmitter,
    onError: (error: unknown) => void,
  ): ReadableStream<Uint8Array> | undefined {
    const { response, gateway } = arrival;
    // A `fetch` of the user's may bring bodies of its own kind.
    if (typeof response.body?.getReader !== 'function') return undefined;
    const body = watched(response.body, arrival, this.#idleMs, signal, (end, error) => {
      onError(error);
      // Its headers had counted as a success.
      const isOurs = end === 'cancelled' || globalThis.navigator?.onLine === false;
      if (!isOurs) this.#core.endBody(gateway, end === 'whole');
    });
    const { enabled, strategy } = settings;
    if (!enabled || strategy === undefined || (target.txId ?? target.arnsName) === undefined || !response.ok) return body;
    const stop = (reason: unknown): void => arrival.controller.abort(reason);
    return verified(body, response.headers, target, strategy, settings, emitter, this.#idleMs, stop);
  }
}
