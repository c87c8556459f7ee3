// Run by memory.mjs with --expose-gc: one client that sends calls to providers on loopback.

import { setTimeout as sleep } from 'node:timers/promises'
import { contenders } from './contenders.mjs'

const IN_FLIGHT = 10
/** Calls of which all garbage fits into the young generation. */
const CHUNK = 250
const WARM = 2000

const [how, name, count, ...urls] = process.argv.slice(2)
const client = contenders[name](urls)

async function send(calls) {
  let left = calls
  const worker = async () => {
    while ((left -= 1) >= 0) await client.call()
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

/** Everything that JavaScript holds: buffers and the memory of WebAssembly modules stand beside the heap. */
function held() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Lets timers and sockets end that a call leaves behind. */
async function settled() {
  await sleep(500)
  globalThis.gc()
  return held()
}

async function allocated(calls) {
  let bytes = 0
  for (let done = 0; done < calls; done += CHUNK) {
    globalThis.gc()
    const before = held()
    await send(CHUNK)
    bytes += held() - before
  }
  return { bytesPerCall: bytes / calls }
}

async function kept(calls) {
  const before = await settled()
  const { rss } = process.memoryUsage()
  let peak = 0
  for (let done = 0; done < calls; done += CHUNK) {
    await send(CHUNK)
    peak = Math.max(peak, held() - before)
  }
  const resident = process.memoryUsage().rss - rss
  return { peak, resident, kept: (await settled()) - before }
}

await send(WARM)
const measured = await { allocated, kept }[how](Number(count))
process.send(measured, () => process.exit())
