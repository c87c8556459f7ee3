import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { Miniflare } from 'miniflare'
import { providersOf, startMocks } from '../support/providers.mjs'

const dist = (name) => readFile(new URL(`../../pkg/dist/${name}`, import.meta.url))
const [CODE, WASM] = await Promise.all([dist('workerd.js'), dist('waypost.wasm')])

/** Each Worker is an isolate of its own; the client and its store are made at the top level, where nothing is allowed. */
const WORKER = `
  import * as lib from './waypost.mjs'
  import { env } from 'cloudflare:workers'
  export { WaypostState } from './waypost.mjs'
  const never = () => new Promise(() => {})
  const throwing = () => { throw new Error('down') }
  const stores = {
    kv: () => lib.kvStore(env.KV),
    object: () => lib.durableObjectStore(env.STATE),
    hung: () => ({ load: never, save: never }),
    slow: () => ({ load: () => fetch(env.SLOW).then(() => {}), save: () => fetch(env.SLOW).then(() => {}) }),
    down: () => ({ load: throwing, save: throwing }),
  }
  const errors = []
  const rpc = lib.createRpcClient({ providers: JSON.parse(env.PROVIDERS), strategy: 'load_balanced', seed: 1 })
  const learnt = lib.attachStore(rpc, stores[env.STORE](), { intervalMs: 1, onError: (error) => errors.push(String(error)) })
  export default {
    async fetch(request, _, ctx) {
      const { pathname } = new URL(request.url)
      // Tests wait for an exchange; requests never do.
      const works = []
      const waitUntil = (work) => { works.push(work); ctx.waitUntil(work) }
      if (pathname === '/exchange') {
        learnt.touch(waitUntil)
        await Promise.all(works)
        return Response.json({ exchanges: works.length, errors })
      }
      if (pathname === '/status') return Response.json(rpc.status().profiles.default.default.providers)
      learnt.touch(waitUntil)
      const result = await rpc.request({ method: 'web3_clientVersion' })
      learnt.touch(waitUntil)
      return Response.json({ result })
    },
  }
`

async function startIsolates(t, proxies, store, count, options = {}) {
  const names = Array.from({ length: count }, (_, index) => `isolate${index}`)
  const providers = providersOf(proxies).map((provider, priority) => ({ ...provider, priority }))
  const workers = names.map((name, index) => ({
    name,
    compatibilityDate: '2025-06-01',
    modulesRoot: '/',
    modules: [
      { type: 'ESModule', path: '/worker.mjs', contents: WORKER },
      { type: 'ESModule', path: '/waypost.mjs', contents: CODE.toString() },
      { type: 'CompiledWasm', path: '/waypost.wasm', contents: WASM },
    ],
    bindings: { PROVIDERS: JSON.stringify(providers), STORE: store, SLOW: '', ...options },
    kvNamespaces: { KV: 'shared' },
    durableObjects: { STATE: index === 0 ? 'WaypostState' : { className: 'WaypostState', scriptName: names[0] } },
  }))
  const miniflare = new Miniflare({ workers })
  t.after(() => miniflare.dispose())
  await miniflare.ready
  const isolates = await Promise.all(names.map((name) => miniflare.getWorker(name)))
  return isolates.map((isolate) => async (path) => {
    const response = await isolate.fetch(`http://localhost${path}`)
    assert.equal(response.status, 200, path)
    return response.json()
  })
}

/** Lets an isolate exchange what it knows; the time between two is a millisecond, by a clock that moves with I/O. */
async function exchange(ask) {
  for (;;) {
    const { exchanges, errors } = await ask('/exchange')
    assert.deepEqual(errors, [])
    if (exchanges > 0) return
  }
}

const hits = (proxies) => proxies.map(({ counters }) => counters.total)

for (const store of ['kv', 'object']) {
  test(`what one isolate learns makes another start warm, which avoids the dead provider: ${store}`, async (t) => {
    const proxies = await startMocks(t, 3)
    proxies[0].fault('status', { status: 500 })
    const [first, second, third] = await startIsolates(t, proxies, store, 3)
    for (let call = 0; call < 25; call += 1) await first('/')
    await exchange(first)
    const [dead, good] = await first('/status')
    assert.equal(dead.circuit, 'open')
    const before = hits(proxies)
    await exchange(second)
    const [told, ...others] = await second('/status')
    assert.equal(told.circuit, 'open')
    assert.deepEqual([others[0].calls, others[0].total], [good.calls, 0])
    assert.ok(others.every(({ latencyMs }) => latencyMs !== null))
    for (let call = 0; call < 10; call += 1) assert.match((await second('/')).result, /^mock\/[bc]$/)
    assert.equal(hits(proxies)[0], before[0])
    // Each of the three counts what really happened, once, however often they exchange it.
    for (let round = 0; round < 5; round += 1) for (const ask of [third, second, first]) await exchange(ask)
    const asked = hits(proxies)
    for (const ask of [first, second, third]) {
      const counts = (await ask('/status')).slice(1).map(({ calls }) => calls)
      assert.deepEqual(counts, asked.slice(1).map((count) => Math.min(count, 32)))
    }
  })
}

test('fifty first requests at once are all answered, and none waits for the store', async (t) => {
  for (const store of ['kv', 'object', 'hung', 'slow', 'down']) {
    const proxies = await startMocks(t, 2)
    const [held] = await startMocks(t, 1)
    held.fault('hang')
    const [ask] = await startIsolates(t, proxies, store, 1, { SLOW: held.url })
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('/')))
    assert.ok(answers.every(({ result }) => /^mock/.test(result)), store)
    for (let call = 0; call < 5; call += 1) assert.match((await ask('/')).result, /^mock/)
  }
})
