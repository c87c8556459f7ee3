/** A thread of its own for one package, because what a package does to globals must not reach the other one. */

import { parentPort, workerData } from 'node:worker_threads'
import { importInstalled } from './installed.mjs'
import { scenarios } from './scenarios/index.mjs'
import { World, outcome } from './world.mjs'

const LIMIT_MS = 10_000
const LEVELS = ['debug', 'log', 'info', 'warn', 'error']
const GLOBALS = ['Promise', 'fetch', 'setTimeout', 'queueMicrotask']

const traces = { lines: 0, unhandled: 0, replaced: [] }
for (const level of LEVELS) console[level] = () => (traces.lines += 1)
process.on('unhandledRejection', () => (traces.unhandled += 1))

const before = GLOBALS.map((name) => globalThis[name])
const lib = await importInstalled(workerData)
traces.replaced = GLOBALS.filter((name, index) => globalThis[name] !== before[index])

function limited(run) {
  let timer
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, LIMIT_MS, `no answer within ${LIMIT_MS / 1_000} s`)
  })
  return Promise.race([run, limit]).finally(() => clearTimeout(timer))
}

for (const scenario of scenarios) {
  const world = new World()
  const told = await limited(outcome(() => scenario.run({ lib, world, traces })))
  await world.close()
  parentPort.postMessage(told)
}
process.exit()
