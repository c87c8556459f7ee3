// Whether the engine stays linear in the number of endpoints.

const [FEW, MANY] = [100, 1000]
/** Of the instructions per endpoint; 1 is linear. */
const LIMIT = 1.3

/** For each scenario that has both sizes: instructions per endpoint among many, as a multiple of those among few. */
export function growth(costs) {
  const grown = {}
  for (const [name, { instructions }] of Object.entries(costs)) {
    const [, what] = new RegExp(`^(.+), ${MANY} endpoints$`).exec(name) ?? []
    if (what === undefined) continue
    const few = costs[`${what}, ${FEW} endpoints`].instructions
    grown[what] = instructions / MANY / (few / FEW)
  }
  return grown
}

/** The ratios as rows of a table. */
export const growthTable = (grown) =>
  Object.fromEntries(Object.entries(grown).map(([what, ratio]) => [what, { [`per endpoint, ${MANY} against ${FEW}`]: ratio.toFixed(3) }]))

/** Sentences about what grows too fast. */
export function overgrown(grown) {
  const rows = Object.entries(grown).filter(([, ratio]) => ratio > LIMIT)
  return rows.map(
    ([what, ratio]) => `${what}: ${ratio.toFixed(2)} times the instructions per endpoint with ${MANY} endpoints as with ${FEW}; at most ${LIMIT} is linear enough`,
  )
}
