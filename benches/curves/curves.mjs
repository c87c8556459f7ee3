// How the engine grows with providers and methods, as WebAssembly called from JavaScript: two pictures and a table.

import { writeFile } from 'node:fs/promises'
import { interleave, median } from '../support/stats.mjs'
import { short, table } from '../support/table.mjs'
import { chart } from './chart.mjs'
import { makeEngine, STRATEGIES } from './engine.mjs'

const PROVIDERS = [1, 3, 10, 30, 100, 300, 1000]
const METHODS = [1, 3, 10, 30, 100]
/** Providers with which methods are counted. */
const POOLS = [10, 100, 1000]
/** Bytes that a provider may take per method. */
const BUDGET = 512
/** A turn is long enough for the clock, and short enough that a slow moment hits all alike. */
const TURN_MICROS = 3000

async function costs(sizes, rounds, methodsOf, providersOf) {
  const engines = new Map()
  for (const size of sizes) {
    const engine = await makeEngine(providersOf(size), methodsOf(size))
    engine.measure()
    engines.set(size, engine)
  }
  const turns = sizes.flatMap((size) => STRATEGIES.map((strategy) => `${size} ${strategy}`))
  const micros = (turn) => {
    const [size, strategy] = turn.split(' ')
    const number = STRATEGIES.indexOf(strategy)
    const engine = engines.get(Number(size))
    const count = Math.ceil(TURN_MICROS / (2 + providersOf(Number(size)) / 8))
    const started = performance.now()
    engine.request(number, count)
    return ((performance.now() - started) * 1000) / count
  }
  // Compiling must not count.
  await interleave(turns, 3, micros)
  const values = await interleave(turns, rounds, micros)
  engines.forEach((engine) => engine.free())
  return (size, strategy) => median(values[`${size} ${strategy}`])
}

async function memory() {
  const bytes = {}
  for (const providers of POOLS) {
    bytes[providers] = []
    for (const methods of METHODS) {
      const engine = await makeEngine(providers, methods)
      engine.measure(1)
      // It must work, too.
      engine.request(0, 1)
      bytes[providers].push(engine.grown())
      engine.free()
    }
  }
  return bytes
}

const linesOf = (sizes, cost) =>
  STRATEGIES.map((strategy) => ({ name: strategy, points: sizes.map((size) => [size, cost(size, strategy)]) }))

function costPicture(byProviders) {
  return chart({
    title: 'Engine time of one request, by providers (1 method)',
    xLabel: 'providers of the chain',
    yLabel: 'µs per request',
    unit: (tick) => tick.toLocaleString('en'),
    lines: linesOf(PROVIDERS, byProviders),
  })
}

function memoryPicture(bytes) {
  const lines = POOLS.map((providers) => ({
    name: `${providers.toLocaleString('en')} providers`,
    points: METHODS.map((methods, index) => [methods, Math.max(bytes[providers][index], 1) / 2 ** 20]),
  }))
  const most = POOLS.at(-1)
  const limit = { name: `${BUDGET} B × ${most.toLocaleString('en')}`, isLimit: true, points: METHODS.map((n) => [n, (BUDGET * most * n) / 2 ** 20]) }
  return chart({
    title: 'Memory of the module, by methods in use',
    xLabel: 'methods in use with every provider',
    yLabel: 'MiB',
    unit: (tick) => tick.toLocaleString('en'),
    lines: [...lines, limit],
  })
}

function remarks(byProviders, byMethods, bytes) {
  const last = METHODS.length - 1
  const per = (providers) => (bytes[providers][last] - bytes[providers][0]) / (providers * (METHODS[last] - METHODS[0]))
  const most = Math.max(...POOLS.map(per))
  const [from, to] = [METHODS[0], METHODS[last]]
  const growth = Math.max(...STRATEGIES.map((strategy) => byMethods(to, strategy) / byMethods(from, strategy)))
  const slope = Math.max(...STRATEGIES.map((strategy) => byProviders(1000, strategy) / byProviders(100, strategy) / 10))
  return [
    `- Target, less than ${BUDGET} bytes per provider and method: ${most < BUDGET ? 'met' : 'missed'}, it is at most ${Math.round(most)}.`,
    `- 1,000 providers with 100 methods each take ${short(bytes[1000][last] / 2 ** 20)} MiB.`,
    `- From 100 to 1,000 providers the time per provider grows by at most ${short(slope)} (1 is linear).`,
    `- From ${from} to ${to} methods, with ten providers, a request takes at most ${short(growth)} times as long.`,
  ]
}

export async function curves({ isQuick, isWritten }) {
  const rounds = isQuick ? 5 : 40
  const byProviders = await costs(PROVIDERS, rounds, () => 1, (size) => size)
  const byMethods = await costs(METHODS, rounds, (size) => size, () => 10)
  const bytes = await memory()
  if (isWritten) {
    await writeFile(new URL('cost.svg', import.meta.url), costPicture(byProviders))
    await writeFile(new URL('memory.svg', import.meta.url), memoryPicture(bytes))
  }
  const row = (strategy) => [strategy, ...PROVIDERS.map((size) => short(byProviders(size, strategy)))]
  const head = ['µs per request', ...PROVIDERS.map((size) => size.toLocaleString('en'))]
  return { curves: [table(head, STRATEGIES.map(row)), '', ...remarks(byProviders, byMethods, bytes)].join('\n') }
}
