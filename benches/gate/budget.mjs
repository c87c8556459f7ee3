// budget.json: what each thing may cost, and what it was measured with.

import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

const FILE = new URL('budget.json', import.meta.url)
const HEADROOM = 1.03
/** For numbers that depend on a compiler, or a Node, which is not the budget's. */
const HEADROOM_ELSEWHERE = 1.25
/** A number this far below its budget could grow by as much without being noticed. */
const SLACK = 0.9
/** What makes a number besides this repository; all others are the same everywhere. */
const MAKERS = { instructions: 'compiler', libraryCalls: 'compiler', bytes: 'node' }
/** What the reader can do. */
export const ACCEPT = 'cargo xtask gate --update'

const round = (number, by = Math.round) => (number < 1000 ? by(number * 100) / 100 : by(number))

function* entries(costs) {
  for (const [name, row] of Object.entries(costs)) {
    for (const [what, cost] of Object.entries(row)) yield { name, what, cost }
  }
}

/** Writes what was measured, and a little more, as the budget. */
export async function writeBudget(costs, makers) {
  const budget = { ...makers, costs: {} }
  for (const { name, what, cost } of entries(costs)) {
    budget.costs[name] ??= {}
    budget.costs[name][what] = round(cost * HEADROOM, Math.ceil)
  }
  await writeFile(FILE, `${JSON.stringify(budget, null, 2)}\n`)
}

export async function readBudget() {
  if (!existsSync(FILE)) throw new Error(`no benches/gate/budget.json: ${ACCEPT} writes it`)
  return JSON.parse(await readFile(FILE, 'utf8'))
}

/** Sentences: what is over its budget, and what is worth knowing. */
export function compare(costs, makers, budget) {
  const over = {}
  const under = {}
  for (const { name, what, cost } of entries(costs)) {
    const limit = budget.costs[name]?.[what]
    const maker = MAKERS[what]
    const isElsewhere = maker !== undefined && budget[maker] !== makers[maker]
    const allowed = isElsewhere ? (limit / HEADROOM) * HEADROOM_ELSEWHERE : limit
    const text = `${round(cost)} ${what} (budget: ${limit === undefined ? 'none' : round(allowed)})`
    // Not "above": whatever has no budget is over it.
    if (!(cost <= allowed)) (over[name] ??= []).push(text)
    else if (!isElsewhere && cost < limit * SLACK) (under[name] ??= []).push(text)
  }
  const strange = Object.keys(makers).filter((maker) => budget[maker] !== makers[maker])
  return { failures: sentences(over), notices: [...sentences(under), ...strange.map((maker) => foreign(maker, makers, budget))] }
}

const sentences = (texts) => Object.entries(texts).map(([name, list]) => `${name}: ${list.join(', ')}`)

function foreign(maker, makers, budget) {
  const whats = Object.keys(MAKERS).filter((what) => MAKERS[what] === maker)
  return `${whats.join(' and ')} may be ${HEADROOM_ELSEWHERE} times the measured, not ${HEADROOM}: this is ${makers[maker]}, the budget is of ${budget[maker]}`
}

/** Sentences about what has a budget and was not measured. */
export function forgotten(costs, budget) {
  const names = Object.keys(budget.costs).filter((name) => !(name in costs))
  return names.map((name) => `${name}: has a budget, but is not measured any more`)
}

/** A table with each cost, and in brackets how much of its budget that is. */
export function table(costs, budget) {
  const rows = {}
  for (const { name, what, cost } of entries(costs)) {
    const limit = budget.costs[name]?.[what]
    rows[name] ??= {}
    rows[name][what] = limit > 0 ? `${round(cost)} (${Math.round((cost / limit) * 100)} %)` : `${round(cost)}`
  }
  return rows
}
