/** Second attempts beside slow ones, as far as the shell has to do with them. */

/**
 * When a request that may be repeated gets a second attempt at another origin while the first one is under way. The first
 * good answer wins, and the other attempt is aborted. (Dean and Barroso, "The Tail at Scale", 2013.)
 * @example { quantile: 0.9, budget: 0.1, methods: ['eth_call', 'eth_sendRawTransaction'] }
 */
export interface HedgeOptions {
  /** Share of the answers to that method that come before: 0.5 to 0.999, default 0.95. */
  quantile?: number;
  /** Second attempts per request on the average: 0 to 1, default 0.05. */
  budget?: number;
  /** Such attempts for one request: 1 to 3, default 1. */
  maxExtra?: number;
  /** The methods that get them. Default: all that may be repeated. Raw transactions only if they are named here. */
  methods?: readonly string[];
}

const LOOKUPS = /^eth_get(?:TransactionReceipt|TransactionBy|BlockBy|BlockReceipts|UncleBy)/;

/** Whether a result may mean only that the provider has not seen yet what is asked for. */
export function isDoubtful(method: string, result: unknown): boolean {
  return (result === null || result === 'null') && LOOKUPS.test(method);
}
