// Runs in Node and in a page alike. Workers refuse modules that draw random numbers, start timers or
// fetch while they are loaded, and so does this.

const swap = (owner, name, value) => {
  const original = owner[name]
  owner[name] = value
  return () => { owner[name] = original }
}

/**
 * Loads a module, then makes something with it, while each way to the outside world throws. Reports
 * what was called: `{ loading, making }`.
 */
export async function importQuietly(load, make) {
  const report = { loading: [], making: [] }
  let called = report.loading
  const forbidden = (owner, name) => swap(owner, name, () => {
    called.push(name)
    throw new Error(`${name} was called`)
  })
  const always = [
    [globalThis, 'fetch'], [globalThis, 'setTimeout'], [globalThis, 'setInterval'],
    [Object.getPrototypeOf(globalThis.crypto), 'getRandomValues'], [Object.getPrototypeOf(globalThis.crypto), 'randomUUID'],
    [Math, 'random'],
  ].map(([owner, name]) => forbidden(owner, name))
  const whileLoading = [[Date, 'now'], [Performance.prototype, 'now']].map(([owner, name]) => forbidden(owner, name))
  try {
    const loaded = await load()
    for (const restore of whileLoading) restore()
    called = report.making
    make(loaded)
  } finally {
    for (const restore of [...whileLoading, ...always]) restore()
  }
  return report
}
