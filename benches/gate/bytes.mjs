// Run by shell.mjs, with a young generation that is never collected and without the optimising compiler, which leaves
// out allocations whenever it has found the time: what a call allocates, the same in every run.

import { calls, repeat } from './calls.mjs'

const WARM_UP = 300
const TIMES = 1000

const measured = {}
for (const [name, make] of Object.entries(calls)) {
  const call = make()
  await repeat(call, WARM_UP)
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  await repeat(call, TIMES)
  measured[name] = { bytes: (process.memoryUsage().heapUsed - before) / TIMES }
}
process.send(measured, () => process.exit())
