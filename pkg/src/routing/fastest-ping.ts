import { anything, check, wholeFrom } from '../checks.js';
import type { GatewaysProvider, Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy, RpcRequest } from '../types.js';
import { candidates } from './context.js';
import { probe, probing } from './probe.js';
import { race } from './race.js';

/**
 * The gateway that answers a probe in the shortest time. Every selection is a race: wrap it in a
 * `SimpleCacheRoutingStrategy` unless requests are rare.
 *
 * A probe is a HEAD request to `probePath` on the gateway's own host, whatever is asked for: how quickly a gateway
 * finds a certain thing says nothing about whether it is there.
 *
 * @example
 * const strategy = new FastestPingRoutingStrategy({ timeoutMs: 1000, gatewaysProvider });
 */
export class FastestPingRoutingStrategy implements RoutingStrategy {
  readonly name = 'fastest-ping';
  /** Time for one probe, in milliseconds. */
  readonly timeoutMs: number;
  /** Probes under way at once. */
  readonly maxConcurrency: number;
  /** What is probed. */
  readonly probePath: string;
  /** The JSON-RPC call that is sent instead of HEAD. */
  readonly probeRequest: RpcRequest | undefined;
  /** Where gateways come from if a selection brings none. A client without another list puts its own here. */
  gatewaysProvider: GatewaysProvider | undefined;

  /**
   * @param options.timeoutMs time for one probe in milliseconds, above 0; 500 by default
   * @param options.maxConcurrency probes under way at once, an integer from 1; 50 by default
   * @param options.probePath path on the gateway's own host; `/` by default
   * @param options.probeRequest a JSON-RPC call to send instead; in an RPC client `eth_chainId` by default
   * @param options.gatewaysProvider where gateways come from if a selection brings none
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws RangeError a number is out of its range
   */
  constructor(
    options: {
      timeoutMs?: number;
      maxConcurrency?: number;
      probePath?: string;
      probeRequest?: RpcRequest;
      gatewaysProvider?: GatewaysProvider | undefined;
      logger?: Logger;
    } = {},
  ) {
    // The last two are of older documents of Wayfinder's, and have no effect there either.
    const table = { ...probing, maxConcurrency: wholeFrom(1), pingPath: anything, cacheResultsMs: anything };
    const checked = check('FastestPingRoutingStrategy', options, table);
    const { timeoutMs = 500, maxConcurrency = 50, probePath = '/', probeRequest, gatewaysProvider } = checked;
    this.timeoutMs = timeoutMs;
    this.maxConcurrency = maxConcurrency;
    this.probePath = probePath;
    this.probeRequest = probeRequest;
    this.gatewaysProvider = gatewaysProvider;
  }

  /**
   * Resolves to the quickest gateway.
   *
   * @throws Error `No gateways provided`, or `All gateways failed to respond`
   */
  async selectGateway(params: RoutingParams = {}): Promise<URL> {
    const gateways = await candidates(params, this.gatewaysProvider);
    if (gateways.length === 0) throw new Error('No gateways provided');
    const { maxConcurrency, timeoutMs } = this;
    const winner = await race(gateways, maxConcurrency, timeoutMs, params.signal, (gateway, signal) =>
      probe(gateway, this, params, signal),
    );
    if (winner !== undefined) return winner;
    const { path, subdomain } = params;
    throw new Error('All gateways failed to respond', { cause: { gateways, path, subdomain } });
  }
}
