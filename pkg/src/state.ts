/**
 * Everything learnt, as a plain object: names, so that providers are found again, and the engine's numbers,
 * which are spans and ages. The time in storage is taken from the wall clock.
 */

import type { Core } from './core.js';
import { WaypostError } from './errors.js';
import { describe } from './refusal.js';

/** Another version is refused. */
const VERSION = 1;
/** Numbers before the first method: breaker and limit. */
const HEAD = 7;
/** A forged state shall not be large. */
const MOST_METHODS = 200;
const MOST_SAMPLES = 64;

interface SavedCell {
  /** Empty stands for all methods together. */
  method: string;
  latencyMs: number | null;
  /** Age and latency (or nothing for a failure) of every sample, one after the other. */
  samples: (number | null)[];
}

interface SavedProvider {
  profile: string;
  chain: string;
  provider: string;
  transport: 'http';
  health: (number | null)[];
  cells: SavedCell[];
}

interface SavedState {
  version: number;
  savedAt: number;
  providers: SavedProvider[];
}

const toJson = (numbers: Float64Array): (number | null)[] => Array.from(numbers, (number) => (Number.isNaN(number) ? null : number));

export function exportState(core: Core): SavedState {
  const providers = core.topology.providers.map(({ provider, pool }): SavedProvider => {
    const numbers = core.engine.exportState(core.now(), provider.place);
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

/** Checks everything before anything is changed. */
export function importState(core: Core, state: unknown): void {
  const saved = state as Partial<SavedState> | null | undefined;
  if (saved?.version !== VERSION) throw refusal(`its version is ${describe(saved?.version)}, not ${VERSION}`);
  const { providers, savedAt } = saved;
  if (!Array.isArray(providers) || typeof savedAt !== 'number') throw refusal('it has no list of providers or no date');
  const known = new Map(
    core.topology.providers.map(({ provider, pool }) => [JSON.stringify([pool.profile, pool.chain, provider.id]), provider.place]),
  );
  const ready = providers.flatMap((entry) => {
    const { profile, chain, provider, health, cells } = (entry ?? {}) as Partial<SavedProvider>;
    const place = known.get(JSON.stringify([profile, chain, provider]));
    return place === undefined ? [] : [{ place, numbers: pack(core, health, cells) }];
  });
  const elapsedMs = Math.max(0, Date.now() - savedAt);
  for (const { place, numbers } of ready) core.engine.importState(core.now(), place, numbers, elapsedMs);
}

function pack(core: Core, health: unknown, cells: unknown): Float64Array {
  if (!isNumbers(health, HEAD) || health.length !== HEAD || !Array.isArray(cells) || cells.length > MOST_METHODS) {
    throw refusal('a provider in it is incomplete');
  }
  const packed = (cells as Partial<SavedCell>[]).flatMap(({ method, latencyMs, samples }) => {
    if (typeof method !== 'string' || !isNumbers(samples, MOST_SAMPLES * 2)) throw refusal('a method in it is incomplete');
    return [method === '' ? -1 : core.method(method), latencyMs ?? NaN, samples.length / 2, ...samples];
  });
  return Float64Array.from([...health, ...packed], (number) => number ?? NaN);
}

const isNumbers = (value: unknown, most: number): value is (number | null)[] =>
  Array.isArray(value) && value.length <= most && value.every((entry) => entry === null || typeof entry === 'number');

function refusal(what: string): WaypostError {
  return new WaypostError('invalid_option', `The state cannot be imported: ${what}. It must come from exportState().`);
}
