/**
 * Checks the shape of options: types, unknown keys, things that must be together. Ranges of numbers are the
 * engine's (`src/engine/config`), which refuses them by path.
 */

import { classNames, strategyNumber, strategyWords } from './engine.js';
import { WaypostError } from './errors.js';
import { didYouMean, refuse } from './refusal.js';

type Check = (value: unknown, path: string) => void;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const number: Check = (value, path) => {
  if (typeof value !== 'number') refuse(path, 'a number', value);
};
const string: Check = (value, path) => {
  if (typeof value !== 'string') refuse(path, 'a string', value);
};
const boolean: Check = (value, path) => {
  if (typeof value !== 'boolean') refuse(path, 'true or false', value);
};
const callable: Check = (value, path) => {
  if (typeof value !== 'function') refuse(path, 'a function', value);
};
const name: Check = (value, path) => {
  if (typeof value !== 'string' || value === '') refuse(path, 'a string that is not empty', value);
};

const oneOf =
  (words: readonly string[]): Check =>
  (value, path) => {
    if (typeof value !== 'string' || !words.includes(value)) {
      refuse(path, `one of ${words.map((word) => `"${word}"`).join(', ')}`, value);
    }
  };

const list =
  (item: Check, least = 0): Check =>
  (value, path) => {
    if (!Array.isArray(value)) refuse(path, 'an array', value);
    if (value.length < least) refuse(path, `an array with at least ${least} entry`, value);
    value.forEach((entry, index) => item(entry, `${path}[${index}]`));
  };

const record =
  (item: Check): Check =>
  (value, path) => {
    if (!isRecord(value)) refuse(path, 'an object', value);
    for (const [key, entry] of Object.entries(value)) item(entry, `${path}.${key}`);
  };

const object =
  (fields: Record<string, Check>, needed: readonly string[] = []): Check =>
  (value, path) => {
    if (!isRecord(value)) refuse(path === '' ? 'The options' : path, 'an object', value);
    const prefix = path === '' ? '' : `${path}.`;
    for (const [key, entry] of Object.entries(value)) {
      const check = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (check === undefined) throw unknownKey(`${prefix}${key}`, key, Object.keys(fields));
      if (entry !== undefined) check(entry, `${prefix}${key}`);
    }
    for (const key of needed) {
      if (value[key] === undefined) throw new WaypostError('invalid_option', `${prefix}${key} is missing.`);
    }
  };

function unknownKey(path: string, key: string, known: readonly string[]): WaypostError {
  return new WaypostError('invalid_option', `Unknown option ${path}.${didYouMean(key, known)} Known here: ${known.join(', ')}.`);
}

const strategy: Check = (value, path) => {
  if (isRecord(value)) {
    if (typeof value['selectGateway'] !== 'function') {
      refuse(path, 'the name of a strategy or an object with selectGateway()', value);
    }
  } else if (typeof value !== 'string' || strategyNumber(value) === undefined) {
    refuse(path, `one of ${strategyWords.join(', ')}, or an object with selectGateway()`, value);
  }
};

const qualify = { minCalls: number, minSuccessRate: number };

const routing: Record<string, Check> = {
  strategy,
  strategies: object({
    fastest: object(qualify),
    latencyWeighted: object({ ...qualify, beta: number, msFloor: number, exploreFloor: number }),
  }),
  deadlineMs: number,
  attemptTimeoutMs: number,
  maxAttempts: number,
  circuitBreaker: object({
    failureThreshold: number,
    thresholds: object({ server: number, network: number, timeout: number, auth: number }),
    recoveryMs: number,
    maxRecoveryMs: number,
    successThreshold: number,
    jitter: number,
  }),
  rateLimit: object({ defaultMs: number, maxMs: number }),
  tierOrder: oneOf(['closed-first', 'unlimited-first']),
  failoverOnOverride: boolean,
};

const errorRule = object(
  {
    code: number,
    status: number,
    messageContains: (value, path) => (Array.isArray(value) ? list(string)(value, path) : string(value, path)),
    class: oneOf(classNames.filter((word) => word !== 'abort')),
  },
  ['class'],
);

const provider: Check = (value, path) => {
  if (typeof value === 'string' || value instanceof URL) return;
  object(
    {
      id: name,
      // A malformed URL may hold a key: what it is like is told where it is parsed.
      url: (url, at) => {
        if (typeof url !== 'string' && !(url instanceof URL)) refuse(at, 'a URL', typeof url);
      },
      headers: record(string),
      priority: number,
      rateLimit: object({ rps: number, burst: number }, ['rps']),
      quotaGroup: name,
      capabilities: object({ unsupportedMethods: list(string), maxBlockRange: number }),
      errorRules: list(errorRule),
    },
    ['url'],
  )(value, path);
};

const providers = list(provider, 1);

const chains: Check = (value, path) => {
  record(object({ chainId: number, aliases: list(name), providers }, ['providers']))(value, path);
  if (Object.keys(value as object).length === 0) refuse(path, 'an object with at least one chain', value);
};

const profiles: Check = (value, path) => {
  record(object({ ...routing, chains }, ['chains']))(value, path);
  if (Object.keys(value as object).length === 0) refuse(path, 'an object with at least one profile', value);
};

export const parseMode = oneOf(['json', 'raw', 'bigint']);

const client = object({
  ...routing,
  providers,
  chains,
  profiles,
  defaultChain: string,
  parse: parseMode,
  hedge: (value, path) => {
    if (value !== false) refuse(path, 'false: hedging is not available yet', value);
  },
  fetch: callable,
  now: callable,
  seed: number,
});

const request = object({
  chain: (value, path) => {
    if (typeof value !== 'string' && typeof value !== 'number') refuse(path, 'a name or a chain id', value);
  },
  profile: string,
  strategy,
  provider: string,
  failoverOnOverride: boolean,
  signal: (value, path) => {
    if (!isRecord(value) || typeof value['aborted'] !== 'boolean') refuse(path, 'an AbortSignal', value);
  },
  deadlineMs: (value, path) => {
    if (typeof value !== 'number' || !(value >= 1 && value <= 86_400_000)) {
      refuse(path, 'a number from 1 to 86400000', value);
    }
  },
  parse: parseMode,
});

/** Checks the options of a client. */
export function checkClientOptions(options: unknown): void {
  client(options, '');
  const sources = ['providers', 'chains', 'profiles'].filter(
    (key) => (options as Record<string, unknown>)[key] !== undefined,
  );
  if (sources.length !== 1) {
    const seen = sources.length === 0 ? 'none of them was given' : `${sources.join(' and ')} were given`;
    throw new WaypostError('invalid_option', `Give exactly one of providers, chains and profiles: ${seen}.`);
  }
}

/** Checks the options of one call. */
export function checkRequestOptions(options: unknown): void {
  request(options, '');
}
