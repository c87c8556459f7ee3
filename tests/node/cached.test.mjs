import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// The class is not exported by the package: it is tested as a module of its own.
const { outputFiles: [{ text }] } = await build({
  entryPoints: [fileURLToPath(new URL('../../pkg/src/cached.ts', import.meta.url))],
  bundle: true, format: 'esm', write: false, target: 'es2022',
})
const { Cached } = await import(`data:text/javascript,${encodeURIComponent(text)}`)

/** A clock and timers that move only by `pass(ms)`. */
function frozenTime(t) {
  let now = 1_000
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return {
    async pass(ms) {
      now += ms
      t.mock.timers.tick(ms)
      await turn()
    },
  }
}

/** A load whose results are given by hand, one per call. */
function byHand() {
  const calls = []
  const load = () => new Promise((resolve, reject) => calls.push({ resolve, reject }))
  return { load, calls }
}

const never = () => new Promise(() => {})
const gives = (value) => async () => value
const fails = (text) => async () => {
  throw new Error(text)
}
const isList = (list) => Array.isArray(list) && list.length > 0

/** Whether a promise has settled by now. */
async function isSettled(promise) {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  await turn()
  return settled
}

test('a fresh value is served at once, and its age counts from the end of its load', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(1_000)
  const { load, calls } = byHand()
  const first = cache.get(load)
  await clock.pass(5_000)
  calls[0].resolve('a')
  assert.equal(await first, 'a')
  await clock.pass(999)
  assert.equal(await cache.get(load), 'a')
  assert.equal(calls.length, 1)
  await clock.pass(1)
  assert.equal(await cache.get(gives('b')), 'b')
})

test('concurrent callers share one load, and its error if there is nothing else', async () => {
  const cache = new Cached(1_000)
  const { load, calls } = byHand()
  const callers = [cache.get(load), cache.get(load), cache.get(load)]
  const error = new Error('down')
  calls[0].reject(error)
  for (const outcome of await Promise.allSettled(callers)) assert.equal(outcome.reason, error)
  assert.equal(calls.length, 1)
  assert.equal(await cache.get(gives('later')), 'later')
})

test('a load that throws before it returns a promise is a failed load', async () => {
  const cache = new Cached(1_000)
  await assert.rejects(
    cache.get(() => {
      throw new Error('at once')
    }),
    /at once/,
  )
})

test('an expired value is served after 50 ms, and the load goes on in the background', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(1_000)
  await cache.get(gives('old'))
  await clock.pass(1_000)
  const { load, calls } = byHand()
  const leader = cache.get(load)
  await clock.pass(49)
  assert.equal(await isSettled(leader), false)
  const follower = cache.get(load)
  await clock.pass(1)
  assert.deepEqual(await Promise.all([leader, follower]), ['old', 'old'])
  assert.equal(await cache.get(load), 'old', 'who comes later does not wait for a load that is known to be slow')
  calls[0].resolve('new')
  await turn()
  assert.equal(await cache.get(never), 'new')
  assert.equal(calls.length, 1)
})

test('a quick refresh is waited for', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(1_000)
  await cache.get(gives('old'))
  await clock.pass(1_000)
  assert.equal(await cache.get(gives('new')), 'new')
})

test('leader and followers get the old value when the load fails, which is not tried again for a while', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(60_000)
  await cache.get(gives('old'))
  await clock.pass(60_000)
  const { load, calls } = byHand()
  const callers = [cache.get(load), cache.get(load)]
  calls[0].reject(new Error('down'))
  assert.deepEqual(await Promise.all(callers), ['old', 'old'])
  await clock.pass(4_999)
  assert.equal(await cache.get(load), 'old')
  assert.equal(calls.length, 1)
  await clock.pass(1)
  assert.equal(await cache.get(gives('new')), 'new')
})

test('the pause after a failure is no longer than the time to live', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(100)
  await cache.get(gives('old'))
  await clock.pass(100)
  assert.equal(await cache.get(fails('down')), 'old')
  await clock.pass(100)
  assert.equal(await cache.get(gives('new')), 'new')
})

test('a background load may fail', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(1_000)
  await cache.get(gives('old'))
  await clock.pass(1_000)
  const { load, calls } = byHand()
  const waiting = cache.get(load)
  await clock.pass(50)
  assert.equal(await waiting, 'old')
  calls[0].reject(new Error('unheard'))
  await turn()
  assert.equal(cache.peek(), 'old')
})

test('a value that is not good never replaces an old one, and is returned when there is none', async (t) => {
  const clock = frozenTime(t)
  const kept = []
  const cache = new Cached(1_000, isList, (value) => kept.push(value))
  assert.deepEqual(await cache.get(gives([])), [])
  assert.equal(cache.peek(), undefined)
  assert.deepEqual(await cache.get(gives(['a'])), ['a'])
  await clock.pass(1_000)
  const { load, calls } = byHand()
  const callers = [cache.get(load), cache.get(load)]
  calls[0].resolve([])
  assert.deepEqual(await Promise.all(callers), [['a'], ['a']])
  assert.deepEqual(kept, [['a']])
})

test('a value that the caller cannot use is not served, fresh, old or after a failure', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(10_000)
  const isNotA = (value) => value !== 'a'
  await cache.get(gives('a'))
  const { load, calls } = byHand()
  const waiting = cache.get(load, isNotA)
  await clock.pass(10_000)
  assert.equal(await isSettled(waiting), false, 'there is nothing to serve meanwhile')
  calls[0].reject(new Error('down'))
  await assert.rejects(waiting, /down/)
  assert.equal(await cache.get(gives('b'), isNotA), 'b')
  assert.equal(await cache.get(never), 'b')
})

test('a failure does not shorten the life of a value that others can use', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(60_000)
  await cache.get(gives('a'))
  await assert.rejects(cache.get(fails('down'), () => false), /down/)
  await clock.pass(59_999)
  assert.equal(await cache.get(never), 'a')
})

test('a follower loads for itself when it cannot use what the shared load brings', async () => {
  const cache = new Cached(10_000)
  const { load, calls } = byHand()
  const leader = cache.get(load)
  let own = 0
  const follower = cache.get(
    async () => `own ${(own += 1)}`,
    (value) => value !== 'a',
  )
  calls[0].resolve('a')
  assert.equal(await leader, 'a')
  assert.equal(await follower, 'own 1')
  assert.equal(cache.peek(), 'a')
})

test('a leader gets what its own load brings, usable or not', async () => {
  const cache = new Cached(10_000)
  let loads = 0
  const load = async () => `load ${(loads += 1)}`
  assert.equal(await cache.get(load, (value) => value === 'x'), 'load 1')
  assert.equal(loads, 1)
})

test('a time to live of 0 keeps nothing, but callers share', async () => {
  const cache = new Cached(0)
  const { load, calls } = byHand()
  const callers = [cache.get(load), cache.get(load)]
  calls[0].resolve('a')
  assert.deepEqual(await Promise.all(callers), ['a', 'a'])
  cache.put('b')
  assert.equal(cache.peek(), undefined)
  assert.equal(await cache.get(gives('c')), 'c')
  assert.equal(calls.length, 1)
})

test('followers of a load that never settles make one of their own, together', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(10_000)
  void cache.get(never)
  const { load, calls } = byHand()
  const early = cache.get(load)
  await clock.pass(4_999)
  const late = cache.get(load)
  assert.equal(calls.length, 0)
  await clock.pass(1)
  assert.equal(calls.length, 1)
  calls[0].resolve('a')
  assert.deepEqual(await Promise.all([early, late]), ['a', 'a'])
})

test('a load that is older than 5 s is not joined, and what it brings at last is not kept', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(100_000)
  const { load, calls } = byHand()
  const first = cache.get(load)
  await clock.pass(5_000)
  assert.equal(await cache.get(gives('quick')), 'quick')
  calls[0].resolve('slow')
  assert.equal(await first, 'slow')
  assert.equal(cache.peek(), 'quick')
})

test('put() keeps a value for as long as is said, clear() forgets it and what is under way', async (t) => {
  const clock = frozenTime(t)
  const cache = new Cached(10_000)
  cache.put('a', 500)
  await clock.pass(499)
  assert.equal(await cache.get(never), 'a')
  await clock.pass(1)
  const { load, calls } = byHand()
  const waiting = cache.get(load)
  cache.clear()
  assert.equal(cache.peek(), undefined)
  calls[0].resolve('b')
  assert.equal(await waiting, 'b')
  assert.equal(cache.peek(), undefined)
  assert.equal(await cache.get(gives('c')), 'c')
})

test('no timer is left behind', async () => {
  const cache = new Cached(10_000)
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  cache.put('old', 0)
  assert.equal(await cache.get(gives('new')), 'new')
  cache.clear()
  const { load, calls } = byHand()
  const callers = [cache.get(load), cache.get(load)]
  calls[0].resolve('a')
  await Promise.all(callers)
  assert.equal(timers(), before)
})
