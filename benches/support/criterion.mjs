// The numbers that `cargo bench` left behind.

import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { short, table } from './table.mjs'

const PARTS = ['request', 'pick', 'complete']
const STRATEGIES = ['load_balanced', 'fastest', 'latency_weighted']
const SIZES = [3, 10, 100, 1000]
/** What a decision among ten may cost, in nanoseconds. */
const TARGET = 1000

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const target = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'criterion')

async function medianOf(group, size) {
  try {
    const text = await readFile(join(target, group, String(size), 'new/estimates.json'), 'utf8')
    return JSON.parse(text).median.point_estimate
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Table and remarks; `undefined` if `cargo bench` has not run. */
export async function criterion() {
  const rows = []
  const worst = { pick: 0, growth: 0 }
  for (const part of PARTS) {
    for (const strategy of STRATEGIES) {
      const medians = await Promise.all(SIZES.map((size) => medianOf(`${part}_${strategy}`, size)))
      if (medians.includes(undefined)) return undefined
      rows.push([`${part}, ${strategy}`, ...medians.map((ns, at) => `${short(ns / SIZES[at])} (${short(ns)})`)])
      if (part === 'pick') {
        worst.pick = Math.max(worst.pick, medians[1])
        worst.growth = Math.max(worst.growth, medians[3] / medians[2] / (SIZES[3] / SIZES[2]))
      }
    }
  }
  const met = worst.pick < TARGET ? 'met' : 'missed'
  const remarks = [
    `- Target, a pick among 10 endpoints in less than 1 µs: ${met}, the slowest strategy takes ${short(worst.pick)} ns.`,
    `- From 100 to 1,000 endpoints the time per endpoint of a pick grows by at most ${short(worst.growth)} (1 is linear; what is above it is memory that no longer fits into the near caches).`,
  ]
  const head = ['ns per endpoint (in all)', ...SIZES.map((size) => `${size.toLocaleString('en')} endpoints`)]
  return { criterion: [table(head, rows), '', ...remarks].join('\n') }
}
