/**
 * Merges what several isolates or tabs have learnt.
 *
 * Everything is put in a fixed order and the choice between two breakers is a total order, so that neither the order nor
 * the grouping of the states matters.
 */

import { checkLearnt, MOST_SAMPLES, openState, VERSION } from '../../state.js';
import type { SavedCell, SavedProvider, SavedState } from '../../state.js';

/** What was seen longer ago counts for nothing, as in the engine. */
export const STALE_MS = 600_000;
/** Length of a state as JSON. */
export const MOST_CHARS = 65_536;
/** A breaker that never changed says so by an age of more than a day. */
const NEVER_MS = 86_400_000;

type Numbers = (number | null)[];
type Sample = [ageMs: number, latencyMs: number | null];

interface Merging {
  names: Pick<SavedProvider, 'profile' | 'chain' | 'provider'>;
  health: Numbers;
  methods: Map<string, Sample[]>;
}

/**
 * Merges states as `exportState({ own: true })` gives them, each of another source, into one that `importState` takes:
 * samples of all, at most 64 per method and not older than ten minutes; of two breakers the one that changed last, of
 * equals the worse; of two rate limits the later end. The result is at most 64 KB long as JSON. What is not a state, or
 * is one of another version, is passed over.
 *
 * @example
 * const both = mergeStates([first.exportState({ own: true }), second.exportState({ own: true })])
 * third.importState(both)
 */
export function mergeStates(states: readonly object[]): object {
  return merge(states);
}

export function merge(states: readonly unknown[]): SavedState {
  const readable = states.flatMap(read);
  const savedAt = Math.max(0, ...readable.map((state) => state.savedAt));
  const merged = new Map<string, Merging>();
  for (const state of readable) {
    const passed = savedAt - state.savedAt;
    for (const { profile, chain, provider, health, cells } of state.providers) {
      const key = JSON.stringify([profile, chain, provider]);
      const aged = age(health, passed);
      const known = merged.get(key) ?? { names: { profile, chain, provider }, health: aged, methods: new Map<string, Sample[]>() };
      merged.set(key, known);
      known.health = worse(known.health, aged);
      for (const { method, samples } of cells) {
        const all = known.methods.get(method) ?? [];
        known.methods.set(method, all);
        for (let at = 0; at + 1 < samples.length; at += 2) all.push([later(samples[at], passed), samples[at + 1] ?? null]);
      }
    }
  }
  const providers = sorted(merged).map(([, { names, health, methods }]): SavedProvider => {
    const cells = sorted(methods).map(([method, samples]): SavedCell => ({ method, latencyMs: null, samples: newest(samples) }));
    return { ...names, transport: 'http', health, cells: cells.filter(({ samples }) => samples.length > 0) };
  });
  return shorten({ version: VERSION, savedAt, providers: providers.filter(isTelling) });
}

/** The state, or nothing if there is anything wrong with it. */
function read(state: unknown): SavedState[] {
  try {
    const { providers, savedAt } = openState(state);
    const checked = providers.map((entry) => {
      const { profile, chain, provider } = entry ?? {};
      if (![profile, chain, provider].every((name) => typeof name === 'string')) throw new TypeError();
      return { ...(entry as SavedProvider), ...checkLearnt(entry) };
    });
    return [{ version: VERSION, savedAt, providers: checked }];
  } catch {
    return [];
  }
}

const sorted = <Value>(map: Map<string, Value>): [string, Value][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

/** Whole milliseconds: their sums do not depend on the order. */
const later = (ageMs: number | null | undefined, passed: number): number => Math.round(Math.max(0, ageMs ?? 0) + passed);

function age(health: Numbers, passed: number): Numbers {
  const [consecutive = 0, reopens = 0, successes = 0, changedAgo = 0, openedAgo = null, openFor = null, limitedFor = 0] = health;
  const opened = openedAgo === null || openFor === null ? [null, null] : [later(openedAgo, passed), Math.round(openFor)];
  return [consecutive, reopens, successes, later(changedAgo, passed), ...opened, Math.max(0, later(limitedFor, -passed))];
}

/** The breaker that changed last, of equals the one that stays open longer, and the later end of the limits. */
function worse(a: Numbers, b: Numbers): Numbers {
  const rank = ([consecutive, reopens, successes, changedAgo, openedAgo, openFor]: Numbers): number[] => [
    -(changedAgo ?? 0),
    openedAgo === null ? -Infinity : (openFor ?? 0) - (openedAgo ?? 0),
    openFor ?? 0,
    reopens ?? 0,
    consecutive ?? 0,
    -(successes ?? 0),
  ];
  const [ours, theirs] = [rank(a), rank(b)];
  const at = ours.findIndex((number, index) => number !== theirs[index]);
  const chosen = at >= 0 && (theirs[at] ?? 0) > (ours[at] ?? 0) ? b : a;
  return [...chosen.slice(0, -1), Math.max(a.at(-1) ?? 0, b.at(-1) ?? 0)];
}

/** Oldest first, as the engine plays them. */
function newest(samples: Sample[]): Numbers {
  return samples
    .filter(([ageMs]) => ageMs <= STALE_MS)
    .sort((a, b) => b[0] - a[0] || (a[1] ?? -1) - (b[1] ?? -1))
    .slice(-MOST_SAMPLES)
    .flat();
}

const isTelling = ({ health, cells }: SavedProvider): boolean => cells.length > 0 || (health[3] ?? 0) < NEVER_MS || health[6] !== 0;

/** Gives up old samples first, then the difference between methods, then providers. */
function shorten(state: SavedState): SavedState {
  let { providers } = state;
  for (let most = MOST_SAMPLES; JSON.stringify({ ...state, providers }).length > MOST_CHARS; most >>= 1) {
    providers = providers.map((provider) => ({
      ...provider,
      cells: provider.cells
        .filter(({ method }) => most > 1 || method === '')
        .map((cell) => ({ ...cell, samples: cell.samples.slice(-Math.max(most, 2)) })),
    }));
    if (most <= 1) providers = providers.slice(providers.length / 2);
  }
  return { ...state, providers };
}
