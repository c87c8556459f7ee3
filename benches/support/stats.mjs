// Medians, since other work on the machine makes means meaningless.

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Runs every contender once per round, in an order that turns from round to round, so that a slow moment of
 * the machine and the garbage of the one before hit all alike. Answers with each contender's value per round.
 */
export async function interleave(names, rounds, measure) {
  const values = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round) % names.length]
      values[name].push(await measure(name))
    }
  }
  return values
}

/** Median of the differences, and of the ratios, to the base of the same round. */
export function against(base, own) {
  return {
    over: median(own.map((value, round) => value - base[round])),
    ratio: median(own.map((value, round) => value / base[round])),
  }
}
