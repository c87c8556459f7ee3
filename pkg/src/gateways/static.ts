import { checkKeys } from '../checks.js';
import { refuse } from '../refusal.js';
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
    checkKeys('StaticGatewaysProvider', options, ['gateways', 'logger']);
    if (!Array.isArray(options.gateways)) refuse('StaticGatewaysProvider: gateways', 'an array of URLs', options.gateways);
    this.gateways = options.gateways.map((gateway) => gatewayOf('StaticGatewaysProvider', gateway));
  }

  /** Resolves to the list. */
  async getGateways(): Promise<URL[]> {
    return this.gateways;
  }
}
