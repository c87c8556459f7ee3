import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { attachStore, createRpcClient, durableObjectStore, kvStore, memoryStore, mergeStates, tabStore } from 'waypost'
import { providerStatus } from '../support/client.mjs'

const MINUTE = 60_000
const CALL = { method: 'eth_call', params: [] }
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Answers with the provider's name; those in `dead` answer 500, those in `slow` take a second by the client's clock. */
function openClient(t, { dead = [], slow = [], ...options } = {}) {
  const clock = { ms: 1_000 }
  const asked = []
  const fetch = async (url, { body }) => {
    const { hostname } = new URL(url)
    const [id] = hostname
    asked.push(id)
    clock.ms += slow.includes(id) ? 1_000 : 20
    if (dead.includes(id)) return new Response('{}', { status: 500 })
    return Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: id })
  }
  const providers = ['a', 'b', 'c'].map((id, priority) => ({ id, url: `https://${id}.test`, priority }))
  const rpc = createRpcClient({ providers, strategy: 'priority', seed: 1, fetch, now: () => clock.ms, ...options })
  t.after(() => rpc.dispose())
  return Object.assign(rpc, { asked, clock })
}

/** Puts the clock by which exchanges are due in the test's hand; `next` lets one happen, after so long, and waits for it. */
function exchanges(t) {
  const clock = { ms: 0 }
  t.mock.method(performance, 'now', () => clock.ms)
  const start = (attached, afterMs = 5_000) => {
    clock.ms += afterMs
    const works = []
    attached.touch((work) => works.push(work))
    return works
  }
  return { clock, start, next: (attached, afterMs) => Promise.all(start(attached, afterMs)) }
}

const callsOf = (rpc, id = 'a') => providerStatus(rpc, id).calls

/** Numbers of a fixed sequence. */
function sequence(seed) {
  let state = seed
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

function randomState(draw) {
  const samples = () => Array.from({ length: draw(30) }, () => [draw(8) * 100_000, draw(5) === 0 ? null : draw(900)]).flat()
  const providers = ['a', 'b', 'c', 'd'].slice(draw(3)).map((provider) => {
    const opened = draw(2) === 0 ? [draw(40_000), 10_000] : [null, null]
    // Few different ages, so that many are equal.
    const health = [draw(3), draw(3), draw(2), draw(4) * 1_000, ...opened, draw(2) * draw(30_000)]
    const cells = ['', 'eth_call', 'eth_getLogs'].slice(0, draw(4)).map((method) => ({ method, latencyMs: 1, samples: samples() }))
    return { profile: 'default', chain: 'default', provider, transport: 'http', health, cells }
  })
  return { version: 1, savedAt: 1_700_000_000_000 + draw(3) * 1_000, providers }
}

test('merged states do not depend on order or grouping, and one that adds nothing changes nothing', () => {
  const draw = sequence(0x5741)
  for (let round = 0; round < 200; round += 1) {
    const [a, b, c] = [1, 2, 3].map(() => randomState(draw))
    const all = mergeStates([a, b, c])
    assert.deepEqual(mergeStates([c, a, b]), all)
    assert.deepEqual(mergeStates([mergeStates([a, b]), c]), all)
    assert.deepEqual(mergeStates([a, mergeStates([c, b])]), all)
    assert.deepEqual(mergeStates([all]), all)
    assert.deepEqual(mergeStates([all, { version: 1, savedAt: 0, providers: [] }]), all)
  }
})

test('however much is merged, the result is bounded and keeps the newest', () => {
  const draw = sequence(7)
  const many = Array.from({ length: 32 }, (_, isolate) => ({
    version: 1, savedAt: 1_000,
    providers: Array.from({ length: 300 }, (_, number) => ({
      ...randomState(draw).providers[0], provider: `p${number}`,
      cells: ['', 'x', 'y', 'z'].map((method) => ({ method, latencyMs: null, samples: [isolate, 5, isolate + 1, 9, 500_000, 7] })),
    })),
  }))
  const merged = mergeStates(many)
  assert.ok(JSON.stringify(merged).length <= 65_536)
  assert.ok(merged.providers.length > 100)
  for (const { cells: [{ method, samples }] } of merged.providers) assert.deepEqual([method, samples.at(-2)], ['', 0])
  const small = mergeStates(many.map((state) => ({ ...state, providers: state.providers.slice(0, 1) })))
  assert.deepEqual(small.providers[0].cells.map(({ samples }) => samples.length), [128, 128, 128, 128])
  const providers = Array.from({ length: 9_000 }, (_, number) => ({ ...many[0].providers[0], provider: `p${number}` }))
  const huge = mergeStates([{ version: 1, savedAt: 0, providers }])
  assert.ok(huge.providers.length > 100 && JSON.stringify(huge).length <= 65_536)
})

const entry = (health, samples = []) => ({
  profile: 'default', chain: 'default', provider: 'a', transport: 'http', health, cells: [{ method: '', latencyMs: null, samples }],
})
const state = (savedAt, ...rest) => ({ version: 1, savedAt, providers: [entry(...rest)] })
const seen = (latency, ageMs = 10) => state(Date.now(), [0, 0, 0, 86_400_000, null, null, 0], [ageMs, latency])

test('the newer transition, of equals the worse, the later limit and the samples of all are in the result', () => {
  const [older, newer] = [[5, 0, 0, 9_000, 9_000, 10_000, 100], [0, 0, 0, 4_000, null, null, 40]]
  const health = (...states) => mergeStates(states).providers[0].health
  assert.deepEqual(health(state(0, older), state(0, newer)), [0, 0, 0, 4_000, null, null, 100])
  // By the date of storage, the opening is the later one.
  assert.deepEqual(health(state(6_000, older), state(0, newer)), [5, 0, 0, 9_000, 9_000, 10_000, 100])
  const equal = [3, 1, 0, 4_000, 4_000, 20_000, 0]
  assert.deepEqual(health(state(0, equal), state(0, newer)).slice(0, 6), equal.slice(0, 6))
  const merged = mergeStates([state(1_000, newer, [3_000, 50, 100, null]), state(0, newer, [599_500, 1, 1_500, 70])])
  assert.deepEqual(merged.providers[0].cells, [{ method: '', latencyMs: null, samples: [3_000, 50, 2_500, 70, 100, null] }])
})

test('what is no state, or one of another version, is passed over', () => {
  const good = state(5, [0, 0, 0, 1, null, null, 0], [1, 1])
  const bad = [
    null, 7, 'x'.repeat(100), [], {}, { ...good, version: 2 }, { ...good, savedAt: '5' }, { ...good, savedAt: Infinity },
    { ...good, providers: {} }, { ...good, providers: [null] }, { ...good, providers: [entry([1, 2, 3])] },
    { ...good, providers: [{ ...entry([0, 0, 0, 1, null, null, 0]), provider: 7 }] },
    { ...good, providers: [entry([0, 0, 0, 1, null, null, 0], ['x', 1])] },
    { ...good, providers: new Array(20_000).fill(good.providers[0]) },
  ]
  assert.deepEqual(mergeStates([...bad, good]), mergeStates([good]))
  assert.deepEqual(mergeStates(bad).providers, [])
})

test('ten exchanges between three clients count everything once', async (t) => {
  const due = exchanges(t)
  const store = memoryStore()
  const clients = [1, 2, 3].map(() => openClient(t))
  const attached = clients.map((client) => attachStore(client, store))
  const done = [0, 0, 0]
  for (let round = 1; round <= 10; round += 1) {
    for (const [index, client] of clients.entries()) {
      // Different amounts; with all of them there is room in the engine's window of 32.
      if (round % (index + 1) !== 0) continue
      await client.request(CALL)
      done[index] += 1
    }
    for (const each of [...attached, ...attached]) await due.next(each)
    const sum = done[0] + done[1] + done[2]
    for (const [index, client] of clients.entries()) {
      const { calls, total, methods: [method] } = providerStatus(client, 'a')
      assert.deepEqual([calls, method.calls, total], [sum, sum, done[index]])
      const [{ cells }] = client.exportState({ own: true }).providers
      assert.deepEqual(cells.map(({ samples }) => samples.length / 2), [done[index], done[index]])
    }
  }
  assert.deepEqual(done, [10, 5, 3])
})

test('a client that starts warm avoids what is dead, and prefers what is quick', async (t) => {
  const due = exchanges(t)
  const store = memoryStore()
  const strategy = 'fastest'
  const first = openClient(t, { dead: ['a'], slow: ['b'], strategy: 'load_balanced' })
  const one = attachStore(first, store)
  for (let call = 0; call < 40; call += 1) await first.request(CALL)
  assert.equal(providerStatus(first, 'a').circuit, 'open')
  await due.next(one)
  const second = openClient(t, { dead: ['a'], slow: ['b'], strategy })
  await due.next(attachStore(second, store))
  assert.equal(providerStatus(second, 'a').circuit, 'open')
  for (let call = 0; call < 5; call += 1) assert.equal(await second.request(CALL), 'c')
  assert.ok(!second.asked.includes('a'))
  assert.equal(providerStatus(second, 'b').latencyMs, 1_000)
  // Whoever finds that it works again tells so.
  first.clock.ms += MINUTE
  const healthy = openClient(t, { strategy })
  const three = attachStore(healthy, store)
  await due.next(three)
  healthy.clock.ms += MINUTE
  await healthy.request(CALL)
  await healthy.request(CALL)
  assert.equal(providerStatus(healthy, 'a').circuit, 'closed')
  await due.next(three)
  await due.next(one)
  assert.equal(providerStatus(first, 'a').circuit, 'closed')
})

test('an exported state of its own has nothing that was imported, a plain one has all', async (t) => {
  const [first, second] = [openClient(t, { dead: ['a'] }), openClient(t)]
  for (let call = 0; call < 6; call += 1) await first.request(CALL)
  second.importState(first.exportState())
  const isEmpty = ({ health, cells }) => health[4] === null && health[6] === 0 && cells.every(({ samples }) => samples.length === 0)
  assert.ok(second.exportState({ own: true }).providers.every(isEmpty))
  assert.ok(!second.exportState().providers.slice(0, 2).some(isEmpty))
  await second.request(CALL)
  assert.deepEqual(mergeStates([second.exportState({ own: true })]).providers.map(({ provider }) => provider), ['b'])
})

const noop = () => {}
const HUGE = { version: 1, savedAt: Date.now(), providers: new Array(200_000).fill({ profile: 'default', filler: 'x'.repeat(50) }) }
const broken = (action) => ({ load: action, save: action })
const BAD_STORES = {
  'hangs': broken(() => new Promise(noop)),
  'throws': broken(() => { throw new Error('down') }),
  'rejects': broken(() => Promise.reject(new Error('down'))),
  'returns nonsense': broken(async () => 'nonsense'),
  'returns another version': broken(async () => ({ version: 99 })),
  'returns ten megabytes': broken(async () => HUGE),
  'returns ten megabytes of text': broken(async () => 'x'.repeat(10_000_000)),
  'throws when heard': { ...broken(async () => { throw new Error('down') }), subscribe: (listener) => { listener(); return noop } },
  'cannot be heard': { ...broken(async () => { throw new Error('down') }), subscribe: () => { throw new Error('no channels') } },
}

for (const [what, store] of Object.entries(BAD_STORES)) {
  test(`a store that ${what} delays and fails no request, and is asked less and less`, async (t) => {
    const due = exchanges(t)
    const errors = []
    const rpc = openClient(t)
    const load = t.mock.fn(store.load)
    const save = t.mock.fn(store.save)
    const attached = attachStore(rpc, { ...store, load, save }, { onError: (error) => errors.push(error) })
    const ask = async () => {
      const works = []
      attached.touch((work) => works.push(work))
      assert.equal(await rpc.request(CALL), 'a')
      return works
    }
    let rounds = 0
    for (let second = 0; second < 60; second += 1) {
      due.clock.ms += 1_000
      rounds += (await ask()).length
      await tick()
    }
    // After 10 s, then 20 s, then 40 s.
    assert.equal(rounds, 3)
    assert.equal(callsOf(rpc), 32)
    if (what === 'hangs') assert.deepEqual(errors, [])
    else assert.ok(errors.length >= rounds && errors.every((error) => error instanceof Error))
    attached.detach()
  })
}

test('listeners for errors and functions that wait, which throw, fail no request', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t)
  const fail = () => { throw new Error('mine') }
  const attached = attachStore(rpc, broken(fail), { onError: fail, waitUntil: fail })
  attached.touch(fail)
  await due.next(attached, 60_000)
  assert.equal(await rpc.request(CALL), 'a')
})

test('an exchange that never ends is replaced, and what it brings later is dropped', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t)
  const answers = []
  const store = { load: () => new Promise((resolve) => answers.push(resolve)), save: async () => assert.fail('there is nothing to save') }
  const attached = attachStore(rpc, store)
  const works = due.start(attached)
  assert.equal(due.start(attached, 9_000).length, 0, 'one is under way')
  works.push(...due.start(attached, 1_000))
  assert.equal(answers.length, 2)
  const told = (latency) => mergeStates([state(Date.now(), [0, 0, 0, 1, null, null, 0], [10, latency])])
  answers[1](told(70))
  answers[0](told(900))
  await Promise.all(works)
  assert.equal(providerStatus(rpc, 'a').latencyMs, 70)
  assert.equal(due.start(attached, 4_999).length, 0)
  assert.equal(due.start(attached, 1).length, 1, 'the time between exchanges is the usual again')
})

test('without touch(), the end of a request starts an exchange; with it, nothing else does', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t)
  const store = memoryStore()
  const save = t.mock.method(store, 'save')
  const attached = attachStore(rpc, store)
  await rpc.request(CALL)
  assert.equal(save.mock.callCount(), 1)
  due.clock.ms += 4_999
  await rpc.request(CALL)
  assert.equal(save.mock.callCount(), 1)
  due.clock.ms += 1
  await rpc.request(CALL)
  assert.equal(save.mock.callCount(), 2)
  await due.next(attached)
  assert.equal(save.mock.callCount(), 3)
  due.clock.ms += MINUTE
  await rpc.request(CALL)
  assert.equal(save.mock.callCount(), 3)
})

test('a breaker or limit that changed is told within a second', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t, { dead: ['a'] })
  const store = memoryStore()
  const save = t.mock.method(store, 'save')
  const attached = attachStore(rpc, store, { intervalMs: MINUTE })
  await due.next(attached)
  assert.equal(due.start(attached, 1_000).length, 0)
  for (let call = 0; call < 5; call += 1) await rpc.request(CALL)
  await due.next(attached, 0)
  assert.equal(save.mock.callCount(), 1)
  assert.notEqual(save.mock.calls[0].arguments[0].providers[0].health[4], null)
  assert.equal(due.start(attached, 1_000).length, 0, 'once')
})

test('attaching reads no clock, draws no number and asks nothing; detaching ends it all', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t)
  const store = memoryStore()
  const load = t.mock.method(store, 'load')
  const save = t.mock.method(store, 'save')
  const forbidden = [t.mock.method(Math, 'random', () => assert.fail()), t.mock.method(Date, 'now', () => assert.fail())]
  performance.now.mock.mockImplementationOnce(() => assert.fail())
  for (const make of [() => kvStore({}), () => durableObjectStore({}), tabStore, memoryStore]) make()
  const attached = attachStore(rpc, store)
  for (const mock of forbidden) mock.mock.restore()
  assert.throws(() => performance.now())
  assert.equal(load.mock.callCount() + save.mock.callCount(), 0)
  await store.save(seen(5), 'other')
  save.mock.resetCalls()
  const works = due.start(attached)
  attached.detach()
  attached.detach()
  await Promise.all(works)
  assert.deepEqual([load.mock.callCount(), callsOf(rpc)], [1, 0])
  await rpc.request(CALL)
  assert.deepEqual(due.start(attached), [])
  assert.equal(save.mock.callCount(), 0)
})

test('a client that was disposed of reports it and throws nothing', async (t) => {
  const due = exchanges(t)
  const rpc = openClient(t)
  const errors = []
  const attached = attachStore(rpc, memoryStore(), { onError: ({ message }) => errors.push(message) })
  rpc.dispose()
  await due.next(attached)
  assert.deepEqual(errors, ['This client was disposed of. Create another one.'])
})

test('tabs of one process tell each other, and do not keep it alive', async (t) => {
  const [first, second] = [openClient(t, { dead: ['a'] }), openClient(t)]
  const stores = [tabStore({ key: 'node' }), tabStore({ key: 'node' })]
  const attached = [first, second].map((client, at) => attachStore(client, stores[at]))
  exchanges(t)
  const alive = setInterval(noop, 1_000)
  t.after(() => clearInterval(alive))
  const heard = new Promise((resolve) => t.after(stores[1].subscribe(resolve)))
  for (let call = 0; call < 6; call += 1) await first.request(CALL)
  performance.now.mock.mockImplementation(() => MINUTE)
  await first.request(CALL)
  await heard
  await tick()
  assert.equal(providerStatus(second, 'a').circuit, 'open')
  const close = t.mock.method(BroadcastChannel.prototype, 'close')
  for (const each of attached) each.detach()
  assert.equal(close.mock.callCount(), 1, 'somebody else still listens to the other')
  const script = `
    import { attachStore, createRpcClient, tabStore } from 'waypost'
    attachStore(createRpcClient({ providers: ['https://a.test'] }), tabStore())
  `
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: import.meta.dirname, timeout: 10_000 })
  assert.equal(status, 0)
})

test('wrong options are refused with the known ones', (t) => {
  const rpc = openClient(t)
  assert.throws(() => attachStore(rpc, memoryStore(), { interval: 5 }), /attachStore: unknown option interval.*intervalMs/)
  assert.throws(() => attachStore(rpc, memoryStore(), { intervalMs: 0 }), RangeError)
  assert.throws(() => attachStore(rpc, {}), /attachStore: store must be an object with load\(\)/)
  assert.throws(() => kvStore({}, { ttlSeconds: 59 }), RangeError)
  assert.throws(() => kvStore({}, { ttl: 59 }), /unknown option ttl/)
  assert.throws(() => durableObjectStore({}, { key: '' }), /unknown option key/)
  assert.throws(() => tabStore({ name: '' }), /unknown option name/)
})
