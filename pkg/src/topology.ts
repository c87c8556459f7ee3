/** From options to pools: chains, aliases and providers, told to the engine and found again by name. */

import { classNumber, NONE, strategyNumber } from './engine.js';
import type { Engine } from './engine.js';
import { WaypostError } from './errors.js';
import type { HedgeOptions } from './hedging.js';
import { describe, didYouMean } from './refusal.js';
import type { ChainOptions, ProfileOptions, ProviderOptions, RoutingOptions, RoutingStrategy, RpcClientOptions } from './types.js';

/** One provider as the shell needs it. */
export interface Provider {
  /** The engine's number. */
  readonly place: number;
  readonly id: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  /** What must never be shown. */
  readonly secrets: readonly string[];
  /** Members that a batch may have, learnt from refusals. */
  maxBatch: number;
}

/** One chain of one profile. */
export interface Pool {
  readonly place: number;
  readonly profile: string;
  readonly chain: string;
  readonly chainId: number | undefined;
  readonly aliases: readonly string[];
  /** What its endpoints are called in messages. */
  readonly noun: 'provider' | 'gateway';
  readonly providers: readonly Provider[];
  /** What a strategy object chooses from; made when first needed. */
  gateways: URL[] | undefined;
  readonly strategy: RoutingStrategy | undefined;
  readonly failoverOnOverride: boolean;
  /** The configured time for a whole request. */
  readonly deadlineMs: number | undefined;
}

/** All pools, by profile. */
export interface Topology {
  readonly profiles: ReadonlyMap<string, readonly Pool[]>;
  /** By the engine's numbers. */
  readonly providers: readonly { provider: Provider; pool: Pool }[];
  readonly defaultChain: string | undefined;
}

/** Tells the engine all that the options hold. */
export function build(engine: Engine, options: RpcClientOptions): Topology {
  const profiles = new Map<string, Pool[]>();
  const providers: { provider: Provider; pool: Pool }[] = [];
  for (const [profile, settings] of Object.entries(profilesOf(options))) {
    const path = options.profiles === undefined ? '' : `profiles.${profile}.`;
    const merged: RoutingOptions = { ...options, ...settings };
    const place = addProfile(engine, merged, path);
    const strategy = typeof merged.strategy === 'object' ? merged.strategy : undefined;
    const pools = Object.entries(settings.chains).map(([chain, chainOptions]) => {
      const where = options.providers === undefined ? `${path}chains.${chain}.providers` : 'providers';
      const { failoverOnOverride = false, deadlineMs } = merged;
      const site = { place: engine.addPool(place), profile, chain, strategy, failoverOnOverride, deadlineMs };
      const pool = buildPool(engine, site, chainOptions, where);
      for (const provider of pool.providers) providers[provider.place] = { provider, pool };
      return pool;
    });
    checkNames(pools, path);
    profiles.set(profile, pools);
  }
  return { profiles, providers, defaultChain: options.defaultChain };
}

/** Options of a profile that are, or hold, numbers. */
const numberKeys = ['strategies', 'deadlineMs', 'attemptTimeoutMs', 'maxAttempts', 'circuitBreaker', 'rateLimit'] as const;
/** A number turns hedging on. */
const HEDGE = { quantile: 0.95 };

function profilesOf({ profiles, chains, providers = [] }: RpcClientOptions): Record<string, ProfileOptions> {
  return profiles ?? { default: { chains: chains ?? { default: { providers } } } };
}

export function addProfile(engine: Engine, options: RoutingOptions, path: string): number {
  const { strategy, tierOrder, circuitBreaker, hedge } = options;
  const number = typeof strategy === 'string' ? strategyNumber(strategy) : undefined;
  const place = engine.addProfile(number ?? NONE, tierOrder === 'unlimited-first');
  const set = (key: string, value: number): void => checkRange(path + key, value, engine.setProfile(place, key, value));
  for (const key of numberKeys) {
    // A threshold for all classes comes first, so that those of single classes win.
    if (key === 'circuitBreaker') numbers({ failureThreshold: circuitBreaker?.failureThreshold }, `${key}.`, set);
    numbers({ [key]: options[key] }, '', set);
  }
  if (hedge !== undefined && hedge !== false) {
    const wanted: HedgeOptions = hedge === true ? HEDGE : { ...HEDGE, ...hedge };
    numbers({ hedge: wanted }, '', set);
    for (const method of wanted.methods ?? []) engine.hedgeMethod(place, method);
  }
  return place;
}

/** Calls `set` for every number in nested options, with its path. */
function numbers(options: object, prefix: string, set: (path: string, value: number) => void): void {
  for (const [key, value] of Object.entries(options) as [string, unknown][]) {
    if (typeof value === 'number') set(prefix + key, value);
    else if (typeof value === 'object' && value !== null) numbers(value, `${prefix}${key}.`, set);
  }
}

type PoolSite = Pick<Pool, 'place' | 'profile' | 'chain' | 'strategy' | 'failoverOnOverride' | 'deadlineMs'>;

function buildPool(engine: Engine, site: PoolSite, options: ChainOptions, where: string): Pool {
  const ids = new Set<string>();
  const providers = options.providers.map((given, index) => {
    const entry = typeof given === 'string' || given instanceof URL ? { url: given } : given;
    return buildProvider(engine, site.place, entry, `${where}[${index}]`, ids);
  });
  const { chainId, aliases = [] } = options;
  return { ...site, chainId, aliases, noun: 'provider', providers, gateways: undefined };
}

function buildProvider(engine: Engine, pool: number, options: ProviderOptions, path: string, ids: Set<string>): Provider {
  const given = parseUrl(options.url, path);
  const { url, headers } = splitCredentials(given, options.headers ?? {});
  const id = options.id ?? freeId(url.host, ids);
  if (ids.has(id)) {
    throw new WaypostError('invalid_option', `${path}.id repeats ${describe(id)}: ids must be unique within a chain.`);
  }
  ids.add(id);
  const quotaGroup = options.quotaGroup === undefined ? `origin ${url.origin}` : `group ${options.quotaGroup}`;
  const place = engine.addEndpoint(pool, quotaGroup);
  const { priority, rateLimit, capabilities } = options;
  numbers(
    { priority, rateLimit, capabilities: { maxBlockRange: capabilities?.maxBlockRange } },
    '',
    (key, value) => checkRange(`${path}.${key}`, value, engine.setEndpoint(place, key, value)),
  );
  for (const method of capabilities?.unsupportedMethods ?? []) engine.refuse(place, method);
  for (const rule of options.errorRules ?? []) {
    const texts = [rule.messageContains ?? []].flat().join('\n');
    engine.addRule(place, rule.code ?? NaN, rule.status ?? NONE, texts, classNumber(rule.class));
  }
  return { place, id, url: url.href, headers, secrets: secretsOf(given, url, headers), maxBatch: Infinity };
}

function parseUrl(given: string | URL, path: string): URL {
  // The text may hold a key, so only its length is told.
  let seen = `${String(given).length} characters`;
  try {
    const url = new URL(given);
    if (/^https?:$/.test(url.protocol)) return url;
    seen = `the scheme ${url.protocol}`;
  } catch {
    // Told below.
  }
  throw new WaypostError('invalid_option', `${path} must have a URL such as https://host/path, but has ${seen}.`);
}

/** `fetch` refuses credentials in a URL, and they would be shown where URLs are: they go into a header. */
function splitCredentials(url: URL, given: Record<string, string>): { url: URL; headers: Record<string, string> } {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (url.username !== '' || url.password !== '') {
    const bytes = new TextEncoder().encode(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`);
    headers['authorization'] = `Basic ${btoa(String.fromCharCode(...bytes))}`;
    url = new URL(url);
    url.username = '';
    url.password = '';
  }
  for (const [key, value] of Object.entries(given)) headers[key.toLowerCase()] = value;
  return { url, headers };
}

function freeId(host: string, ids: Set<string>): string {
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? host : `${host}#${number}`;
    if (!ids.has(id)) return id;
  }
}

/** Parts of URL and headers that a provider might repeat in its error texts. */
function secretsOf(given: URL, url: URL, headers: Record<string, string>): string[] {
  const parts = [
    given.username,
    given.password,
    url.href,
    ...url.pathname.split('/'),
    ...url.searchParams.values(),
    ...Object.entries(headers).flatMap(([key, value]) => (key === 'content-type' ? [] : [value, ...value.split(' ')])),
  ];
  return parts.filter((part) => part.length >= 8).sort((a, b) => b.length - a.length);
}

/** Turns the engine's refusal of a number into a sentence. */
function checkRange(path: string, value: number, [min, max]: Float64Array): void {
  if (min === undefined) return;
  throw new WaypostError('invalid_option', `${path} must be from ${min} to ${max}, but is ${value}.`);
}

function checkNames(pools: readonly Pool[], path: string): void {
  const seen = new Set<string>();
  for (const pool of pools) {
    for (const name of [pool.chain, ...pool.aliases, pool.chainId ?? []].flat().map(String)) {
      if (seen.has(name)) {
        throw new WaypostError('invalid_option', `${path}chains: the name ${describe(name)} stands for two chains.`);
      }
      seen.add(name);
    }
  }
}

/** The pool that a call means. */
export function findPool(topology: Topology, profile: string | undefined, chain: string | number | undefined): Pool {
  const { profiles } = topology;
  const only = profiles.size === 1 ? profiles.keys().next().value : undefined;
  const profileName = profile ?? (profiles.has('default') ? 'default' : only);
  const pools = profileName === undefined ? undefined : profiles.get(profileName);
  if (pools === undefined) throw unknown('profile', profileName, [...profiles.keys()]);
  const wanted = chain ?? topology.defaultChain;
  if (wanted === undefined && pools.length === 1 && pools[0] !== undefined) return pools[0];
  const name = wanted === undefined ? undefined : String(wanted);
  const found = pools.find(
    (pool) => pool.chain === name || (name !== undefined && (String(pool.chainId) === name || pool.aliases.includes(name))),
  );
  if (found === undefined) throw unknown('chain', name, pools.map((pool) => pool.chain));
  return found;
}

/** The provider that a call insists on. */
export function findProvider(pool: Pool, id: string): Provider {
  const found = pool.providers.find((provider) => provider.id === id);
  if (found === undefined) throw unknown('provider', id, pool.providers.map((provider) => provider.id));
  return found;
}

/** Names what does not exist, and lists what does. */
export function unknown(kind: string, name: string | undefined, known: readonly string[]): WaypostError {
  const list = known.map((word) => `"${word}"`).join(', ');
  if (name === undefined) {
    return new WaypostError('invalid_request', `The request names no ${kind}, and there are several: ${list}.`);
  }
  return new WaypostError('invalid_request', `Unknown ${kind} ${describe(name)}.${didYouMean(name, known)} There are: ${list}.`);
}

/** The number of a strategy word, or an error that lists them. */
export function strategyOf(word: string, words: readonly string[]): number {
  const number = strategyNumber(word);
  if (number === undefined) throw unknown('strategy', word, words);
  return number;
}
