/**
 * Everything learnt, as a plain object: names, so that providers are found again, and the engine's numbers,
 * which are spans and ages. The time in storage is taken from the wall clock.
 */

import type { Core } from './core.js';
import { WaypostError } from './errors.js';
import { describe } from './refusal.js';

/** Another version is refused. */
export const VERSION = 1;
/** Numbers before the first method: breaker and limit. */
const HEAD = 7;
/** A forged state shall not be large. */
const MOST_PROVIDERS = 10_000;
const MOST_METHODS = 200;
export const MOST_SAMPLES = 64;

export interface SavedCell {
  /** Empty stands for all methods together. */
  method: string;
  /** Without it, the mean is that of the samples. */
  latencyMs: number | null;
  /** Age and latency (or nothing for a failure) of every sample, one after the other. */
  samples: (number | null)[];
}

export interface SavedProvider {
  profile: string;
  chain: string;
  provider: string;
  transport: 'http';
  health: (number | null)[];
  cells: SavedCell[];
}

export interface SavedState {
  version: number;
  savedAt: number;
  providers: SavedProvider[];
}

const toJson = (numbers: Float64Array): (number | null)[] => Array.from(numbers, (number) => (Number.isNaN(number) ? null : number));

/** What others told is left out if it `isOwn`. */
export function exportState(core: Core, isOwn = false): SavedState {
  const providers = core.topology.providers.map(({ provider, pool }): SavedProvider => {
    const numbers = core.engine.exportState(core.now(), provider.place, isOwn);
    const cells: SavedCell[] = [];
    for (let at = HEAD; at < numbers.length; ) {
      const [method = -1, latency = NaN, length = 0] = numbers.subarray(at, at + 3);
      const end = at + 3 + length * 2;
      cells.push({
        method: method < 0 ? '' : core.engine.methodName(method),
        latencyMs: Number.isNaN(latency) ? null : latency,
        samples: toJson(numbers.subarray(at + 3, end)),
      });
      at = end;
    }
    const { profile, chain } = pool;
    return { profile, chain, provider: provider.id, transport: 'http', health: toJson(numbers.subarray(0, HEAD)), cells };
  });
  return { version: VERSION, savedAt: Date.now(), providers };
}

/**
 * Checks everything before anything is changed. If it `isShared`, it stands beside what was seen here, in the place of
 * what was imported before.
 */
export function importState(core: Core, state: unknown, isShared = false): void {
  const { providers, savedAt } = openState(state);
  const known = new Map(
    core.topology.providers.map(({ provider, pool }) => [JSON.stringify([pool.profile, pool.chain, provider.id]), provider.place]),
  );
  const ready = providers.flatMap((entry) => {
    const { profile, chain, provider } = entry ?? {};
    const place = known.get(JSON.stringify([profile, chain, provider]));
    return place === undefined ? [] : [{ place, numbers: pack(core, checkLearnt(entry)) }];
  });
  const elapsedMs = Math.max(0, Date.now() - savedAt);
  for (const { place, numbers } of ready) core.engine.importState(core.now(), place, numbers, elapsedMs, isShared);
}

/** Checks a state but for what is in its list of providers. */
export function openState(state: unknown): { providers: readonly (Partial<SavedProvider> | null)[]; savedAt: number } {
  const saved = state as Partial<SavedState> | null | undefined;
  if (saved?.version !== VERSION) throw refusal(`its version is ${describe(saved?.version)}, not ${VERSION}`);
  const { providers, savedAt } = saved;
  if (!Array.isArray(providers) || providers.length > MOST_PROVIDERS || typeof savedAt !== 'number' || !Number.isFinite(savedAt)) {
    throw refusal(`it has no date, or no list of at most ${MOST_PROVIDERS} providers`);
  }
  return { providers, savedAt };
}

/** Checks what is in a state of one provider. */
export function checkLearnt(entry: Partial<SavedProvider> | null): Pick<SavedProvider, 'health' | 'cells'> {
  const { health, cells } = entry ?? {};
  if (!isNumbers(health, HEAD) || health.length !== HEAD || !Array.isArray(cells) || cells.length > MOST_METHODS) {
    throw refusal('a provider in it is incomplete');
  }
  for (const cell of cells as (Partial<SavedCell> | null)[]) {
    if (typeof cell?.method !== 'string' || !isNumbers(cell.samples, MOST_SAMPLES * 2)) throw refusal('a method in it is incomplete');
  }
  return { health, cells };
}

function pack(core: Core, { health, cells }: Pick<SavedProvider, 'health' | 'cells'>): Float64Array {
  const packed = cells.flatMap(({ method, latencyMs, samples }) => [
    method === '' ? -1 : core.method(method),
    latencyMs ?? NaN,
    samples.length / 2,
    ...samples,
  ]);
  return Float64Array.from([...health, ...packed], (number) => number ?? NaN);
}

const isNumbers = (value: unknown, most: number): value is (number | null)[] =>
  Array.isArray(value) && value.length <= most && value.every((entry) => entry === null || typeof entry === 'number');

function refusal(what: string): WaypostError {
  return new WaypostError('invalid_option', `The state cannot be imported: ${what}. It must come from exportState().`);
}
