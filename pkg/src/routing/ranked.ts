/** The strategies of the engine as classes. */

import { bounded } from '../bounded.js';
import { Cached } from '../cached.js';
import { check } from '../checks.js';
import { strategyNumber } from '../engine.js';
import { refuse } from '../refusal.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import { GatewayCore } from '../gateway-core.js';
import type { RoutingParams, RoutingStrategy, RpcRequest, StrategyName } from '../types.js';
import { candidates, contextOf } from './context.js';
import { probe, probing } from './probe.js';

/** Options of the strategies that the engine ranks by. */
export interface RankedOptions {
  /** Where gateways come from if a selection brings none. */
  gatewaysProvider?: GatewaysProvider | undefined;
  /** Time for one probe in milliseconds, above 0; 1000 by default. Probes are sent in clients that are not Waypost's only. */
  timeoutMs?: number;
  /** Path on the gateway's own host that probes ask for; `/` by default. */
  probePath?: string;
  /** A JSON-RPC call to send instead of HEAD. */
  probeRequest?: RpcRequest;
  /** Accepted for Wayfinder's sake, without effect. */
  logger?: Logger;
}

/** How long a probe counts where nothing else is known: as long as measurements do. */
const UP_MS = 600_000;
/** When somebody who was down is probed again. */
const DOWN_MS = 10_000;
/** Probes under way at once. */
const MOST_PROBES = 50;
/** Origins whose probes are remembered. */
const MOST_PROBED = 4096;

/**
 * In a client of ours the engine ranks by what it has measured. Elsewhere nobody tells the strategy what came of
 * its choices, unless `report()` is called: there it probes every gateway and keeps what came of it.
 */
abstract class Ranked implements RoutingStrategy {
  abstract readonly name: string;
  /** Where gateways come from if a selection brings none. A client without another list puts its own here. */
  gatewaysProvider: GatewaysProvider | undefined;
  /** Time for one probe, in milliseconds. */
  readonly timeoutMs: number;
  /** What is probed. */
  readonly probePath: string;
  /** The JSON-RPC call that is sent instead of HEAD. */
  readonly probeRequest: RpcRequest | undefined;
  readonly #number: number;
  /** Whether a gateway is up, by origin. */
  readonly #probes = new Map<string, Cached<boolean>>();
  #own: GatewayCore | undefined;

  /** @param word the engine's word for the strategy */
  protected constructor(
    className: string,
    word: StrategyName,
    options: RankedOptions,
  ) {
    const { gatewaysProvider, timeoutMs = 1000, probePath = '/', probeRequest } = check(className, options, probing);
    this.gatewaysProvider = gatewaysProvider;
    this.timeoutMs = timeoutMs;
    this.probePath = probePath;
    this.probeRequest = probeRequest;
    this.#number = strategyNumber(word) ?? 0;
  }

  /**
   * Resolves to the gateway that ranks first.
   *
   * @throws Error `No gateways available`
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const gateways = await candidates(params, this.gatewaysProvider);
    if (gateways.length === 0) throw new Error('No gateways available');
    const context = contextOf(params);
    const chosen =
      context === undefined
        ? await bounded(Infinity, params.signal, () => this.#alone(gateways))
        : context.pick(gateways, this.#number);
    if (chosen === undefined) throw new Error('No gateways available');
    return chosen;
  }

  /**
   * Tells what came of a choice, where no client of ours does: whether the gateway answered, and in how many
   * milliseconds.
   */
  report(result: { gateway: URL; ok: boolean; ms: number }): void {
    const { gateway, ok, ms } = result;
    if (!(ms >= 0 && ms < Infinity)) refuse('ms', 'a number from 0', ms);
    this.#core().note(gateway, ok ? ms : -1, false);
  }

  #core(): GatewayCore {
    return (this.#own ??= new GatewayCore({}, undefined));
  }

  async #alone(gateways: readonly URL[]): Promise<URL | undefined> {
    const core = this.#core();
    const up = new Set<URL>();
    const queue = [...gateways];
    const work = async (): Promise<void> => {
      for (let gateway = queue.shift(); gateway !== undefined; gateway = queue.shift()) {
        if (await this.#isUp(core, gateway)) up.add(gateway);
      }
    };
    await Promise.all(Array.from({ length: MOST_PROBES }, work));
    const alive = core.healthy(gateways.filter((gateway) => up.has(gateway)));
    return core.pick(alive.length > 0 ? alive : gateways, this.#number);
  }

  /** What the last probe said. The caller's signal is left out: others wait for the same probe. */
  #isUp(core: GatewayCore, gateway: URL): Promise<boolean> {
    const { origin } = gateway;
    let known = this.#probes.get(origin);
    if (known === undefined) {
      if (this.#probes.size >= MOST_PROBED) this.#probes.clear();
      this.#probes.set(origin, (known = new Cached<boolean>((isUp) => (isUp ? UP_MS : DOWN_MS))));
    }
    return known.get(async () => {
      const ms = await probe(gateway, this, {}).catch(() => -1);
      core.note(gateway, ms, true);
      return ms >= 0;
    });
  }
}

/**
 * An even share for every healthy gateway.
 *
 * @example
 * const strategy = new LoadBalancedRoutingStrategy({ gatewaysProvider });
 */
export class LoadBalancedRoutingStrategy extends Ranked {
  readonly name = 'load-balanced';

  /** @throws RangeError a number is out of its range */
  constructor(options: RankedOptions = {}) {
    super('LoadBalancedRoutingStrategy', 'load_balanced', options);
  }
}

/**
 * The healthy gateway that has answered in the shortest time; no pings in a client of ours, which measures by requests.
 *
 * @example
 * const wayfinder = createWayfinderClient({ routingStrategy: new FastestRoutingStrategy({ gatewaysProvider }) });
 */
export class FastestRoutingStrategy extends Ranked {
  readonly name = 'fastest';

  /** @throws RangeError a number is out of its range */
  constructor(options: RankedOptions = {}) {
    super('FastestRoutingStrategy', 'fastest', options);
  }
}

/**
 * By lot, quick gateways more often: the weight falls with the third power of the latency.
 *
 * @example
 * const strategy = new LatencyWeightedRoutingStrategy({ gatewaysProvider });
 */
export class LatencyWeightedRoutingStrategy extends Ranked {
  readonly name = 'latency-weighted';

  /** @throws RangeError a number is out of its range */
  constructor(options: RankedOptions = {}) {
    super('LatencyWeightedRoutingStrategy', 'latency_weighted', options);
  }
}

/**
 * The healthy gateway whose answer is expected first: by what is usual for it, how far it is behind at the moment, how often it fails,
 * and how much it lets through. 8 % of the choices go to a gateway that is not measured yet.
 *
 * @example
 * const wayfinder = createWayfinderClient({ routingStrategy: new AdaptiveRoutingStrategy({ gatewaysProvider }) });
 */
export class AdaptiveRoutingStrategy extends Ranked {
  readonly name = 'adaptive';

  /** @throws RangeError a number is out of its range */
  constructor(options: RankedOptions = {}) {
    super('AdaptiveRoutingStrategy', 'adaptive', options);
  }
}

/**
 * The first healthy gateway of the list; among JSON-RPC providers the one with the lowest `priority`.
 *
 * @example
 * const strategy = new PriorityRoutingStrategy({ gatewaysProvider: new StaticGatewaysProvider({ gateways: [best, second] }) });
 */
export class PriorityRoutingStrategy extends Ranked {
  readonly name = 'priority';

  /** @throws RangeError a number is out of its range */
  constructor(options: RankedOptions = {}) {
    super('PriorityRoutingStrategy', 'priority', options);
  }
}
