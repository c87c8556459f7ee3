import { anything, check } from '../checks.js';
import type { Test } from '../checks.js';
import { gatewayOf } from './list.js';
import type { GatewaysProvider, Logger } from './types.js';

/**
 * A fixed list of gateways.
 *
 * @example
 * const provider = new StaticGatewaysProvider({ gateways: ['https://turbo-gateway.com', 'https://g8way.io'] });
 */
export class StaticGatewaysProvider implements GatewaysProvider {
  /** The list; `URL` objects are those that were given. */
  readonly gateways: URL[];

  /**
   * @param options.gateways base URLs
   * @param options.logger accepted, but there is nothing to log
   * @throws TypeError `Invalid URL` if one cannot be parsed
   */
  constructor(options: { gateways: readonly (string | URL)[]; logger?: Logger }) {
    const name = 'StaticGatewaysProvider';
    const list: Test = (value) => !Array.isArray(value) && 'an array of URLs';
    const { gateways } = check(name, options, { 'gateways!': list, logger: anything });
    this.gateways = gateways.map((gateway) => gatewayOf(name, gateway));
  }

  /** Resolves to the list. */
  async getGateways(): Promise<URL[]> {
    return this.gateways;
  }
}
