import assert from 'node:assert/strict'
import test from 'node:test'
import { durableObjectStore, kvStore, memoryStore, mergeStates, WaypostState } from 'waypost'

const MINUTE = 60_000
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** A state with one success, of so long ago. */
function seen(latency, ageMs = 10) {
  const health = [0, 0, 0, 86_400_000, null, null, 0]
  const cells = [{ method: '', latencyMs: null, samples: [ageMs, latency] }]
  const providers = [{ profile: 'default', chain: 'default', provider: 'a', transport: 'http', health, cells }]
  return mergeStates([{ version: 1, savedAt: Date.now(), providers }])
}

/** A namespace in memory. */
function fakeKv() {
  const kv = {
    values: new Map(), ttls: new Set(), reads: 0,
    get: async (keys) => {
      kv.reads += 1
      return new Map(keys.map((key) => [key, kv.values.get(key) ?? null]))
    },
    put: async (key, value, { expirationTtl }) => {
      kv.ttls.add(expirationTtl)
      kv.values.set(key, value)
    },
  }
  return kv
}

const latencies = ({ providers }) => providers.flatMap(({ cells: [{ samples }] }) => samples.filter((_, at) => at % 2 === 1)).sort((a, b) => a - b)

test('in KV each source has a key of its own while there are any, and writes to it again', async () => {
  const kv = fakeKv()
  const stores = Array.from({ length: 16 }, () => kvStore(kv, { key: 'test', ttlSeconds: 60 }))
  for (const [index, store] of stores.entries()) await store.save(seen(index), `source${index}`)
  for (const [index, store] of stores.entries()) await store.save(seen(100 + index), `source${index}`)
  assert.equal(kv.values.size, 16)
  assert.ok([...kv.values.keys()].every((key) => /^test:\d+$/.test(key)))
  assert.deepEqual([...kv.ttls], [60])
  assert.deepEqual(latencies(await stores[0].load('source0')), Array.from({ length: 15 }, (_, index) => 101 + index))
  assert.deepEqual(latencies(await stores[0].load()).length, 16)
  assert.equal(kv.reads, 18)
  await kvStore(kv, { key: 'test' }).save(seen(1), 'late')
  assert.equal(kv.values.size, 16, 'one has lost its place')
})

test('a source whose key was taken in KV moves to a free one, and does not while it merely reads old values', async () => {
  const kv = fakeKv()
  const store = kvStore(kv)
  await store.save(seen(1), 'mine')
  const [key] = kv.values.keys()
  const [saved] = kv.values.values()
  kv.values.clear()
  await store.load('mine')
  await store.save(seen(2), 'mine')
  assert.deepEqual([...kv.values.keys()], [key])
  kv.values.set(key, saved.replace('mine', 'theirs'))
  await store.load('mine')
  await store.save(seen(3), 'mine')
  assert.equal(kv.values.size, 2)
  assert.deepEqual(latencies(await store.load('mine')), [1])
})

test('nonsense and values of ten megabytes in KV are passed over', async () => {
  const kv = fakeKv()
  const store = kvStore(kv)
  const good = JSON.stringify({ source: 'x', state: seen(5) })
  const bad = ['{', 'null', '7', '[]', '{"source":"a b","state":{}}', 'x'.repeat(10_000_000), good.replace('"version":1', '"version":2')]
  bad.forEach((text, at) => kv.values.set(`waypost:${at}`, text))
  kv.values.set('waypost:9', good)
  assert.deepEqual(latencies(await store.load()), [5])
})

function fakeObject() {
  const values = new Map()
  const storage = {
    values, puts: 0,
    list: async () => new Map(values),
    put: async (key, value) => { storage.puts += 1; values.set(key, value) },
    delete: async (keys) => keys.forEach((key) => values.delete(key)),
  }
  return storage
}

/** A namespace with one object, which `evict` makes anew. */
function fakeNamespace(storage = fakeObject()) {
  let object = new WaypostState({ storage })
  return {
    storage,
    evict: () => { object = new WaypostState({ storage }) },
    idFromName: (name) => name,
    get: () => ({ fetch: (url, init) => object.fetch(new Request(url, init)) }),
  }
}

test('a Durable Object answers a save with what all others have seen, aged by its own clock', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const namespace = fakeNamespace()
  const store = durableObjectStore(namespace)
  // The clocks of isolates do not matter.
  await store.save({ ...seen(1), savedAt: 5 }, 'one')
  await store.save({ ...seen(2), savedAt: 9e15 }, 'two')
  t.mock.timers.tick(3_000)
  const others = await store.save(seen(3), 'three')
  assert.deepEqual(others.providers[0].cells[0].samples, [3_010, 1, 3_010, 2])
  assert.equal(others.savedAt, 1_003_000)
  await store.save(seen(4), 'three')
  assert.deepEqual(latencies(await store.load('one')), [2, 4])
  t.mock.timers.tick(599_000)
  assert.deepEqual(latencies(await store.load()), [4])
  t.mock.timers.tick(2_000)
  assert.deepEqual(await store.load(), { version: 1, savedAt: 1_604_000, providers: [] })
})

test('what a Durable Object answers is as of its arrival, whatever the clock of the object says', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const store = durableObjectStore({ idFromName: String, get: () => ({ fetch: async () => Response.json({ ...seen(1), savedAt: 5 }) }) })
  assert.deepEqual(await store.load(), { ...seen(1), savedAt: 1_000_000 })
})

test('an older state of a source does not replace a newer one, and a date in the future makes none stay', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const store = memoryStore()
  await store.save({ ...seen(1), savedAt: 9e15 }, 'one')
  await store.save({ ...seen(2), savedAt: 999_000 }, 'one')
  assert.deepEqual(latencies(await store.load()), [1])
  t.mock.timers.tick(1)
  await store.save(seen(3), 'one')
  assert.deepEqual(latencies(await store.load()), [3])
  await store.save({ ...seen(4), savedAt: 9e15 }, 'two')
  t.mock.timers.tick(11 * MINUTE)
  assert.deepEqual((await store.load()).providers, [])
})

test('a Durable Object keeps at most 32 sources, writes each at most every ten seconds, and finds them after its eviction', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  const namespace = fakeNamespace()
  const store = durableObjectStore(namespace)
  for (let source = 0; source < 40; source += 1) {
    await store.save(seen(source), `s${source}`)
    t.mock.timers.tick(1)
  }
  await store.save(seen(40), 's39')
  assert.equal(namespace.storage.puts, 40)
  await tick()
  assert.ok(namespace.storage.values.size <= 33)
  assert.deepEqual(latencies(await store.load()), [...Array.from({ length: 31 }, (_, at) => at + 8), 40])
  t.mock.timers.tick(10_000)
  await store.save(seen(41), 's39')
  namespace.evict()
  assert.deepEqual(latencies(await store.load()), [...Array.from({ length: 31 }, (_, at) => at + 8), 41])
})

test('a Durable Object refuses what is no state, and works without its storage', async () => {
  const storage = { list: () => Promise.reject(new Error('no')), put: () => Promise.reject(new Error('no')), delete: () => Promise.reject(new Error('no')) }
  const store = durableObjectStore(fakeNamespace(storage))
  for (const bad of [{ version: 2 }, [], { ...seen(1), providers: 7 }, { ...seen(1), filler: 'x'.repeat(100_000) }]) {
    await assert.rejects(store.save(bad, 'one'), /The Durable Object waypost answered 400/)
  }
  await assert.rejects(store.save(seen(1), 'no source'), /answered 400/)
  await store.save(seen(1), 'one')
  assert.deepEqual(latencies(await store.load()), [1])
})
