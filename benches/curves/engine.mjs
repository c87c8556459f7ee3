// The engine as the package calls it, each in an instance of its own, whose memory can be looked at.

import { readFile } from 'node:fs/promises'

/** As the package numbers them. */
export const STRATEGIES = ['load_balanced', 'fastest', 'latency_weighted', 'priority', 'adaptive']
const NONE = 0xffff_ffff
/** Details of a step that has to be sent, and of one that is an end. */
const [TO_SEND, AT_END] = [[0, 3, 2, 1], [0, 4]]
/** Outcomes that the engine remembers of a provider with a method. */
const WINDOW = 32

const module = new WebAssembly.Module(await readFile(new URL('../../pkg/gen/waypost_bg.wasm', import.meta.url)))
let instances = 0

/** An engine with one chain of so many providers. */
export async function makeEngine(providers, methods) {
  instances += 1
  const { Engine, initSync } = await import(`../../pkg/gen/waypost.js?instance=${instances}`)
  const { memory } = initSync({ module })
  const empty = memory.buffer.byteLength
  const engine = new Engine(42)
  const pool = engine.addPool(engine.addProfile(NONE, false))
  const places = Array.from({ length: providers }, (_, index) => engine.addEndpoint(pool, `origin ${index}`))
  const numbers = Array.from({ length: methods }, (_, index) => engine.method(`eth_get${index}`))
  let now = 1000
  return {
    /** Bytes that the memory has grown by since it was empty. */
    grown: () => memory.buffer.byteLength - empty,
    /** Has every provider measured with every method; `outcomes` fill the window unless they are fewer. */
    measure(outcomes = WINDOW) {
      for (let round = 0; round < outcomes; round += 1) {
        now += 1
        for (const place of places) {
          for (const method of numbers) engine.note(now, place, method, 40 + ((place * 37 + round * 11) % 160), false)
        }
      }
    },
    /** One request after the other, with all calls into the module that the package makes for each. */
    request(strategy, count) {
      for (let done = 0; done < count; done += 1) {
        now += 1
        const handle = engine.begin(now, pool, numbers[done % methods], strategy, NONE, NONE, 0, -1)
        engine.next(now, handle)
        const [attempt] = TO_SEND.map((which) => engine.detail(which))
        engine.succeed(now + 50, handle, attempt, false)
        if (engine.next(now + 50, handle) !== 3) throw new Error('the request has not ended with its answer')
        AT_END.forEach((which) => engine.detail(which))
        engine.release(handle)
      }
    },
    free: () => engine.free(),
  }
}
