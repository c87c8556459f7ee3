import { anything, check } from '../checks.js';
import type { Logger } from '../gateways/types.js';
import type { RoutingParams, RoutingStrategy } from '../types.js';

/**
 * Always the same gateway.
 *
 * @example
 * const strategy = new StaticRoutingStrategy({ gateway: 'https://turbo-gateway.com' });
 */
export class StaticRoutingStrategy implements RoutingStrategy {
  readonly name = 'static';
  readonly #gateway: URL;

  /**
   * @param options.gateway its URL
   * @param options.logger accepted for Wayfinder's sake, without effect
   * @throws TypeError `Invalid URL`
   */
  constructor(options: { gateway: string | URL; logger?: Logger }) {
    this.#gateway = new URL(check('StaticRoutingStrategy', options, { gateway: anything, logger: anything }).gateway);
  }

  /** Resolves to the gateway, the same object every time. */
  async selectGateway(_params?: RoutingParams): Promise<URL> {
    return this.#gateway;
  }
}
