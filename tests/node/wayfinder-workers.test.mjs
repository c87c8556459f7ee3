import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import test from 'node:test'
import { Miniflare } from 'miniflare'
import { CONTENT, IDS, startGateway, startGateways } from '../support/gateway.mjs'

const dist = (name) => readFile(new URL(`../../pkg/dist/${name}`, import.meta.url))
const [CODE, WASM] = await Promise.all([dist('workerd.js'), dist('waypost.wasm')])
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const TEXT = CONTENT[IDS.text].body.toString()

/** Makes each class at the top level, where Workers allow no fetch, no timer and no random number. */
const WORKER = `
  import * as lib from './waypost.mjs'
  const GATEWAYS = __GATEWAYS__
  const PEERS = __PEERS__
  const urls = GATEWAYS.map((url) => new URL(url))
  const [first, second] = urls
  const gatewaysProvider = new lib.StaticGatewaysProvider({ gateways: GATEWAYS })
  const given = { gatewaysProvider }
  const random = new lib.RandomRoutingStrategy(given)
  const ping = new lib.FastestPingRoutingStrategy({ ...given, timeoutMs: 5_000 })
  const cache = new lib.SimpleCacheRoutingStrategy({ routingStrategy: new lib.FastestPingRoutingStrategy({ ...given, timeoutMs: 5_000 }) })
  // The default list comes from a host that no test may reach: its place is taken by a gateway of the test's.
  const peersFetch = (input, init) => fetch(String(input).replace(/^https:\\/\\/([^/]+\\.)?turbo-gateway\\.com/, PEERS), init)
  const listed = new lib.SimpleCacheGatewaysProvider({ gatewaysProvider: new lib.TrustedPeersGatewaysProvider({ trustedGateway: PEERS }) })
  const strategies = {
    random, ping, cache,
    static: new lib.StaticRoutingStrategy({ gateway: first }),
    'round-robin': new lib.RoundRobinRoutingStrategy({ gateways: urls }),
    'ping-random': new lib.PingRoutingStrategy({ routingStrategy: random }),
    preferred: new lib.PreferredWithFallbackRoutingStrategy({ preferredGateway: second ?? first, fallbackStrategy: ping }),
    composite: new lib.CompositeRoutingStrategy({ strategies: [ping, random] }),
    'load-balanced': new lib.LoadBalancedRoutingStrategy(given),
    fastest: new lib.FastestRoutingStrategy(given),
    'latency-weighted': new lib.LatencyWeightedRoutingStrategy(given),
    priority: new lib.PriorityRoutingStrategy(given),
    listed: new lib.RandomRoutingStrategy({ gatewaysProvider: listed }),
  }
  const clients = { created: lib.createWayfinderClient({ fetch: peersFetch }), plain: new lib.Wayfinder({ fetch: peersFetch }) }
  new lib.Wayfinder()
  lib.createWayfinderClient()
  for (const [name, routingStrategy] of Object.entries(strategies)) clients[name] = lib.createWayfinderClient({ routingStrategy })

  export default {
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const [, action, name, id] = pathname.split('/')
      const { signal } = searchParams.has('signal') ? request : {}
      const { request: ask } = clients[name]
      if (action === 'names') return Response.json(Object.keys(clients))
      if (action === 'stream') return await ask('ar://' + id, { signal })
      // Its I/O is dropped with this request.
      if (action === 'drop') {
        ask('ar://' + id).catch(() => {})
        await new Promise((resolve) => setTimeout(resolve, 100))
        return new Response('dropped')
      }
      if (action === 'abort') {
        const controller = new AbortController()
        setTimeout(() => controller.abort(new Error('enough')), 100)
        const error = await ask('ar://' + id, { signal: controller.signal }).then((answer) => answer.text()).catch((error) => error)
        return Response.json({ name: error.name, message: error.message })
      }
      try {
        const answer = await ask('ar://' + id)
        const { url, status, attempts, gateway } = answer
        const type = answer.headers.get('content-type')
        return Response.json({ url, status, type, attempts, gateway: gateway.href, text: await answer.text() })
      } catch (error) {
        return Response.json({ error: String(error) }, { status: 500 })
      }
    },
  }
`

/** A Worker over these gateways; `peers` is who lists them. \`get(path)\` asks it. */
async function startWorker(t, gateways) {
  const peers = await startGateway(t, { peers: gateways.map(({ url }) => url), tag: 'p' })
  const contents = WORKER.replace('__GATEWAYS__', JSON.stringify(gateways.map(({ url }) => url))).replace('__PEERS__', JSON.stringify(peers.url))
  const worker = new Miniflare({
    compatibilityDate: '2025-01-01',
    modulesRoot: '/',
    modules: [
      { type: 'ESModule', path: '/worker.mjs', contents },
      { type: 'ESModule', path: '/waypost.mjs', contents: CODE.toString() },
      { type: 'CompiledWasm', path: '/waypost.wasm', contents: WASM },
    ],
  })
  t.after(() => worker.dispose())
  const origin = await worker.ready
  const get = async (path, signal) => {
    const response = await fetch(new URL(path, origin), { signal })
    return response.json()
  }
  /** A client of the Worker that goes away when it is told to. */
  const leave = (path) => {
    const request = httpRequest(new URL(path, origin)).on('error', () => {})
    request.end()
    return request
  }
  return { origin, get, leave, peers }
}

const total = (gateways, method) => gateways.reduce((sum, { counters }) => sum + counters.of(method), 0)
const NAMES = [
  'created', 'plain', 'random', 'ping', 'cache', 'static', 'round-robin', 'ping-random', 'preferred', 'composite',
  'load-balanced', 'fastest', 'latency-weighted', 'priority', 'listed',
]

test('all classes are made at the top level of a Worker, and each client serves in a handler', async (t) => {
  const gateways = await startGateways(t, 3)
  const { get } = await startWorker(t, gateways)
  assert.deepEqual((await get('/names/plain')).sort(), [...NAMES].sort())
  assert.equal(total(gateways, 'HEAD') + total(gateways, 'GET'), 0)
  for (const name of NAMES) {
    const { text, url, status, type, gateway, attempts, error } = await get(`/json/${name}/${IDS.text}`)
    assert.deepEqual([error, text, status, type], [undefined, TEXT, 200, 'text/plain; charset=utf-8'], name)
    assert.ok(gateways.some((each) => gateway === `${each.url}/` && url === `${each.url}/${IDS.text}`), `${name} ${url}`)
    assert.deepEqual(attempts.map(({ outcome }) => outcome), ['success'])
  }
})

test('another gateway serves when the chosen one fails, by 5xx or by a dead connection', async (t) => {
  const gateways = await startGateways(t, 3)
  gateways[0].fault('status', { status: 503, method: 'GET' })
  gateways[1].fault('reset', { method: 'GET' })
  const { get } = await startWorker(t, gateways)
  for (const name of NAMES.filter((each) => each !== 'static')) {
    const { text, gateway, error } = await get(`/json/${name}/${IDS.text}`)
    assert.deepEqual([error, text, gateway], [undefined, TEXT, `${gateways[2].url}/`], name)
  }
  const { status } = await get(`/json/static/${IDS.text}`)
  assert.equal(status, 503)
})

test('the answer can be returned as it is: a large body streams through with its headers', async (t) => {
  const gateways = await startGateways(t, 2)
  const { origin } = await startWorker(t, gateways)
  for (const name of ['ping', 'created', 'cache']) {
    const response = await fetch(new URL(`/stream/${name}/${IDS.big}`, origin))
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('x-ar-io-digest'), createHash('sha256').update(CONTENT[IDS.big].body).digest('base64url'))
    assert.match(response.headers.get('x-test-gateway'), /^[ab]$/)
    assert.equal(sha256(Buffer.from(await response.arrayBuffer())), sha256(CONTENT[IDS.big].body), name)
  }
})

/** Twenty first requests at once, while whatever they share is slow. */
async function burst(get, name) {
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(`/json/${name}/${IDS.text}`)))
  for (const { error, text } of answers) assert.deepEqual([error, text], [undefined, TEXT], name)
}

test('twenty first requests at once share one race of probes through a SimpleCacheRoutingStrategy', async (t) => {
  const gateways = await startGateways(t, 3)
  for (const gateway of gateways) gateway.fault('slow', { method: 'HEAD', delayMs: 300 })
  const { get } = await startWorker(t, gateways)
  await get('/names/plain')
  await burst(get, 'cache')
  assert.equal(total(gateways, 'HEAD'), 3)
  await burst(get, 'cache')
  assert.equal(total(gateways, 'HEAD'), 3)
})

for (const name of ['listed', 'created', 'plain']) {
  test(`twenty first requests at once share one list of gateways: ${name}`, async (t) => {
    const gateways = await startGateways(t, 3)
    const { get, peers } = await startWorker(t, gateways)
    peers.fault('slow', { path: '/ar-io/peers', delayMs: 300 })
    await get('/names/plain')
    await burst(get, name)
    assert.equal(peers.counters.of('GET', '/ar-io/peers'), 1)
    await burst(get, name)
    assert.equal(peers.counters.of('GET', '/ar-io/peers'), 1)
  })
}

/** What the clients share while it is loaded: probes of all gateways, or the list of them. */
const LOADS = {
  cache: ({ gateways }) => ({ holders: gateways, rule: { method: 'HEAD' } }),
  listed: ({ peers }) => ({ holders: [peers], rule: { path: '/ar-io/peers' } }),
  created: ({ peers }) => ({ holders: [peers], rule: { path: '/ar-io/peers' } }),
  plain: ({ peers }) => ({ holders: [peers], rule: { path: '/ar-io/peers' } }),
}

/** Answers the next request to each of these when `release` is called; `arrived` resolves once all of them wait. */
function holdNext(holders, rule) {
  const releases = []
  const arrived = Promise.all(holders.map((holder) => new Promise((arrive) => {
    const until = { then: (release) => arrive(releases.push(release)) }
    holder.fault('held', { ...rule, times: 1, until })
  })))
  return { arrived, release: () => releases.forEach((release) => release()) }
}

/** Three requests that come while a first one loads what they share; `leaveWith` ends that one. */
async function follow(t, loads, name, action, leaveWith) {
  const gateways = await startGateways(t, 2)
  const { get, leave, peers } = await startWorker(t, gateways)
  await get('/names/plain')
  const { holders, rule } = loads({ gateways, peers })
  const { arrived, release } = holdNext(holders, rule)
  const client = leave(`/${action}/${name}/${IDS.text}`)
  await arrived
  await leaveWith(client, holders)
  // Less than anybody waits for a page. What it guards against is half a minute.
  const patience = AbortSignal.timeout(8_000)
  const others = [1, 2, 3].map(() => get(`/json/${name}/${IDS.text}`, patience))
  release()
  const ends = await Promise.allSettled(others)
  assert.deepEqual(ends.map(({ value, reason }) => value?.text ?? value?.error ?? reason.name), [TEXT, TEXT, TEXT])
}

for (const [name, loads] of Object.entries(LOADS)) {
  test(`a first request whose client goes away does not hold up the others: ${name}`, async (t) => {
    await follow(t, loads, name, 'json', (client) => client.destroy())
  })

  test(`a first request that the runtime drops does not hold up the others: ${name}`, async (t) => {
    const isDropped = ({ counters }) => counters.until(({ aborted }) => aborted === 1)
    await follow(t, loads, name, 'drop', (client, holders) => Promise.all([once(client, 'response'), ...holders.map(isDropped)]))
  })
}

test('an abort closes the connection to the gateway, while it is silent and in the middle of a body', async (t) => {
  for (const fault of ['hang', 'hangBody']) {
    const gateways = await startGateways(t, 1)
    const { get } = await startWorker(t, gateways)
    gateways[0].fault(fault, { method: 'GET' })
    const error = await get(`/abort/static/${IDS.big}`)
    assert.match(`${error.name} ${error.message}`, /AbortError|enough/, fault)
    await gateways[0].counters.until(({ aborted }) => aborted === 1)
  }
})

test('a client that goes away in the middle of a body that is passed through closes the connection to the gateway', async (t) => {
  const gateways = await startGateways(t, 1)
  const { origin } = await startWorker(t, gateways)
  gateways[0].fault('hangBody', { method: 'GET' })
  const controller = new AbortController()
  const response = await fetch(new URL(`/stream/static/${IDS.big}`, origin), { signal: controller.signal })
  const reader = response.body.getReader()
  await reader.read()
  controller.abort()
  await gateways[0].counters.until(({ aborted }) => aborted === 1)
  await reader.cancel().catch(() => {})
})

test('losers of a race of probes and of gateways are closed', async (t) => {
  const gateways = await startGateways(t, 2)
  const { get } = await startWorker(t, gateways)
  gateways[0].fault('hang', { method: 'HEAD' })
  const { text } = await get(`/json/ping/${IDS.text}`)
  assert.equal(text, TEXT)
  await gateways[0].counters.until(({ aborted }) => aborted === 1)
})
