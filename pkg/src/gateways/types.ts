/** What gateways providers are, take and talk to. */

/** Anything that knows gateways. */
export interface GatewaysProvider {
  /** Resolves to base URLs of gateways, best first if there is an order. */
  getGateways(): Promise<URL[]>;
}

/** Where messages go. Without one nothing is logged, unlike Wayfinder, which writes to the console. */
export interface Logger {
  debug(message: string, ...args: unknown[]): void;
  info(message: string, ...args: unknown[]): void;
  warn(message: string, ...args: unknown[]): void;
  error(message: string, ...args: unknown[]): void;
}

/** By what the gateways of the network are sorted. */
export type SortBy =
  | 'totalDelegatedStake'
  | 'operatorStake'
  | 'startTimestamp'
  | 'weights.gatewayPerformanceRatio'
  | 'weights.tenureWeight'
  | 'weights.stakeWeight'
  | 'weights.compositeWeight'
  | 'stats.passedConsecutiveEpochs'
  | 'weights.normalizedCompositeWeight';

/** Smallest or largest first. */
export type SortOrder = 'asc' | 'desc';

/** A number, or something that can be read as one. */
type Amount = number | bigint | string | { toString(): string };

/** A gateway as the network's registry has it; there may be more fields. */
export interface NetworkGateway {
  status: string;
  settings: { protocol: string; fqdn: string; port: number };
  operatorStake?: Amount;
  totalDelegatedStake?: Amount;
  startTimestamp?: Amount;
  stats?: { passedConsecutiveEpochs?: Amount };
  weights?: {
    gatewayPerformanceRatio?: Amount;
    tenureWeight?: Amount;
    stakeWeight?: Amount;
    compositeWeight?: Amount;
    normalizedCompositeWeight?: Amount;
  };
}

/** The part of the `ARIO` class of `@ar.io/sdk` that is used. */
export interface ARIORead {
  getGateways(page: {
    limit?: number;
    cursor?: string | undefined;
    sortBy?: SortBy;
    sortOrder?: SortOrder;
  }): Promise<{ items: NetworkGateway[]; nextCursor?: string | undefined; hasMore?: boolean }>;
}
