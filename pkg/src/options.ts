/**
 * The shape of options: types, unknown keys, things that must be together. Ranges of numbers are the engine's
 * (`src/engine/config`), which refuses them by path.
 */

import { boolean, callable, check, filled, isRecord, number, string } from './checks.js';
import type { Table, Test } from './checks.js';
import { classNames, strategyNumber, strategyWords } from './engine.js';
import { WaypostError } from './errors.js';

/** A day: longer deadlines are mistakes. */
const MOST_MS = 86_400_000;

const oneOf = (words: readonly string[], value: unknown): string | false =>
  !words.includes(value as string) && `one of ${words.map((word) => `"${word}"`).join(', ')}`;

const strategy: Test = (value) => {
  const isKnown = typeof value === 'string' ? strategyNumber(value) !== undefined : typeof Object(value).selectGateway === 'function';
  return !isKnown && `one of ${strategyWords.join(', ')}, or an object with selectGateway()`;
};

/** What both halves let their users set. */
export const limits = {
  deadlineMs: number,
  attemptTimeoutMs: number,
  maxAttempts: number,
  circuitBreaker: {
    failureThreshold: number,
    thresholds: { server: number, network: number, timeout: number, auth: number },
    recoveryMs: number,
    maxRecoveryMs: number,
    successThreshold: number,
    jitter: number,
  },
  rateLimit: { defaultMs: number, maxMs: number },
} as const;

const hedge: Table = { quantile: number, budget: number, maxExtra: number, methods: [filled] };

const within = (most: number, value: unknown): string | false =>
  !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most) && `an integer from 1 to ${most}`;

const cache: Table = { ttlMs: (value) => within(3_600_000, value), maxEntries: (value) => within(100_000, value) };

/** Functions, since what spreads at the top of a module stays in pages that do not use it. */
const routing = (): Table => ({
  ...limits,
  strategy,
  strategies: {
    fastest: { minCalls: number, minSuccessRate: number },
    latencyWeighted: { minCalls: number, minSuccessRate: number, beta: number, msFloor: number, exploreFloor: number },
  },
  hedge: (value) => typeof value !== 'boolean' && hedge,
  tierOrder: (value) => oneOf(['closed-first', 'unlimited-first'], value),
  failoverOnOverride: boolean,
});

const provider: Table = {
  id: filled,
  // A malformed URL may hold a key: what it is like is told where it is parsed.
  'url!': (value) => typeof value !== 'string' && !(value instanceof URL) && 'a URL',
  headers: { '*': string },
  priority: number,
  rateLimit: { 'rps!': number, burst: number },
  quotaGroup: filled,
  capabilities: { unsupportedMethods: [string], maxBlockRange: number },
  errorRules: [
    {
      code: number,
      status: number,
      messageContains: (value) => ![value].flat().every((text) => typeof text === 'string') && 'a string or an array of strings',
      'class!': (value) => oneOf(classNames.filter((word) => word !== 'abort'), value),
    },
  ],
};

const providers: Test = (value) =>
  Array.isArray(value) && value.length === 0
    ? 'an array with at least 1 entry'
    : [(entry) => typeof entry !== 'string' && !(entry instanceof URL) && provider];

const chain: Table = { chainId: number, aliases: [filled], 'providers!': providers };

const chains: Test = (value) => (isEmpty(value) ? 'an object with at least one chain' : { '*': chain });

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;

const parseMode: Test = (value) => oneOf(['json', 'raw', 'bigint'], value);

const client = (): Table => ({
  ...routing(),
  providers,
  chains,
  profiles: (value) => (isEmpty(value) ? 'an object with at least one profile' : { '*': { ...routing(), 'chains!': chains } }),
  defaultChain: string,
  parse: parseMode,
  singleFlight: boolean,
  cache: (value) => typeof value !== 'boolean' && cache,
  fetch: callable,
  now: callable,
  seed: number,
});

const request: Table = {
  chain: (value) => typeof value !== 'string' && typeof value !== 'number' && 'a name or a chain id',
  profile: string,
  strategy,
  provider: string,
  failoverOnOverride: boolean,
  signal: (value) => typeof Object(value).aborted !== 'boolean' && 'an AbortSignal',
  deadlineMs: (value) => !(typeof value === 'number' && value >= 1 && value <= MOST_MS) && `a number from 1 to ${MOST_MS}`,
  parse: parseMode,
};

/** Checks the options of a client. */
export function checkClientOptions(options: unknown): void {
  check('createRpcClient', options, client());
  const sources = ['providers', 'chains', 'profiles'].filter((key) => Object(options)[key] !== undefined);
  if (sources.length !== 1) {
    const seen = sources.join(' and ') || 'none of them';
    throw new WaypostError('invalid_option', `Give exactly one of providers, chains and profiles, not ${seen}.`);
  }
}

/** Checks the options of one call. */
export function checkRequestOptions(options: unknown): void {
  check('request', options, request);
}
