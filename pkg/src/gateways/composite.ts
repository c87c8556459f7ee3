import { anything, check } from '../checks.js';
import { isFilled } from './list.js';
import type { GatewaysProvider, Logger } from './types.js';

const NAME = 'CompositeGatewaysProvider';

/**
 * Asks providers one after the other until one has gateways.
 *
 * @example
 * const provider = new CompositeGatewaysProvider({
 *   providers: [
 *     new TrustedPeersGatewaysProvider({ trustedGateway: 'https://turbo-gateway.com' }),
 *     new StaticGatewaysProvider({ gateways: ['https://turbo-gateway.com'] }),
 *   ],
 * });
 */
export class CompositeGatewaysProvider implements GatewaysProvider {
  /** The providers in their order. */
  readonly providers: GatewaysProvider[] = [];
  readonly #logger: Logger | undefined;

  /**
   * @param options.providers at least one, in the order in which they are asked
   * @param options.logger where messages go; nowhere by default
   * @throws Error `At least one gateways provider must be provided`
   */
  constructor(options: { providers?: readonly GatewaysProvider[]; logger?: Logger } = {}) {
    const { providers = [], logger } = check(NAME, options, { providers: anything, logger: anything });
    if (providers.length === 0) throw new Error('At least one gateways provider must be provided');
    this.#logger = logger;
    for (const provider of providers) this.addProvider(provider);
  }

  /**
   * Resolves to the first list that is not empty.
   *
   * @throws Error `All gateways providers failed to return gateways`; the cause lists the errors of those that threw
   */
  async getGateways(): Promise<URL[]> {
    const errors: unknown[] = [];
    for (const provider of this.providers) {
      try {
        const gateways = await provider.getGateways();
        if (isFilled(gateways)) return gateways;
      } catch (error) {
        this.#logger?.warn(`${NAME}: a provider failed`, error);
        errors.push(error);
      }
    }
    throw new Error('All gateways providers failed to return gateways', { cause: errors });
  }

  /** Adds a provider that is asked after the others. */
  addProvider(provider: GatewaysProvider): void {
    check(NAME, provider, 'getGateways', 'provider');
    this.providers.push(provider);
  }

  /** A copy of the list of providers. */
  getProviders(): GatewaysProvider[] {
    return [...this.providers];
  }
}
