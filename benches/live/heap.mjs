// Run by stub.mjs with --expose-gc: the heap of one client during 10,000 calls.

import { repeat, stubbed } from './stub.mjs'

const CALLS = 10_000
const STEP = 100

const client = stubbed('plain')[process.argv[2]]
// Compiling must not count, nor what a client keeps for good.
await repeat(client, 2000)
globalThis.gc()
const before = process.memoryUsage().heapUsed
let peak = 0
for (let count = 0; count < CALLS; count += STEP) {
  await repeat(client, STEP)
  peak = Math.max(peak, process.memoryUsage().heapUsed - before)
}
// With a young generation that is never full, what is there at the end is all that was allocated.
const allocated = process.memoryUsage().heapUsed - before
process.send({ peak, bytesPerCall: allocated / CALLS }, () => process.exit())
