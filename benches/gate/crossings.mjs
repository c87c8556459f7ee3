// Run by shell.mjs: how often a call goes from JavaScript to WebAssembly or back, what it asks of the platform.

const WARM_UP = 100
const TIMES = 200

const counts = { crossings: 0, timers: 0, controllers: 0 }

/** Every function of an object, counting. */
function watched(functions) {
  const entries = Object.entries(functions).map(([name, value]) => {
    if (typeof value !== 'function') return [name, value]
    const counting = (...parameters) => {
      counts.crossings += 1
      return value(...parameters)
    }
    return [name, counting]
  })
  return Object.fromEntries(entries)
}

const { Instance } = WebAssembly
// Where the glue makes its instance, and not the class of the engine: a text that is handed over takes several crossings.
WebAssembly.Instance = function (module, imports) {
  const modules = Object.entries(imports).map(([name, functions]) => [name, watched(functions)])
  return { exports: watched(new Instance(module, Object.fromEntries(modules)).exports) }
}

const { setTimeout: startTimer, AbortController: Controller } = globalThis
globalThis.setTimeout = (...parameters) => {
  counts.timers += 1
  return startTimer(...parameters)
}
globalThis.AbortController = class extends Controller {
  constructor() {
    super()
    counts.controllers += 1
  }
}

const { calls, repeat } = await import('./calls.mjs')
const measured = {}
for (const [name, make] of Object.entries(calls)) {
  const call = make()
  await repeat(call, WARM_UP)
  const before = { ...counts }
  await repeat(call, TIMES)
  measured[name] = Object.fromEntries(Object.keys(counts).map((what) => [what, (counts[what] - before[what]) / TIMES]))
}
process.send(measured, () => process.exit())
