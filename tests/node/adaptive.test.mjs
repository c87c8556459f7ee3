/** The strategy `adaptive`, through real sockets and in every place that takes a strategy. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AdaptiveRoutingStrategy, createRpcClient, createRpcHandler, createWayfinderClient, StaticGatewaysProvider } from 'waypost'
import { aheadClock } from '../support/client.mjs'
import { countedProvider, fakeGateways, forbidUnhandled, urls } from '../support/fake-gateways.mjs'
import { IDS, startGateway } from '../support/gateway.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

forbidUnhandled(after)

const WHO = { method: 'web3_clientVersion', params: [] }
/** Time in which what was measured comes to count half. */
const HALF_LIFE_MS = 10_000
const nameOf = (id) => `mock/${id}`

/** Who answers each of `count` requests, one after the other; `between` runs before each. */
async function answers(rpc, count, between = () => {}) {
  const names = []
  for (let call = 0; call < count; call += 1) {
    between(call)
    names.push(await rpc.request(WHO))
  }
  return names
}

const share = (names, id) => names.filter((name) => name === nameOf(id)).length / names.length

/** Three providers, of which a answers at once, b after 40 ms and c after 60 ms, known to a client. */
async function startKnown(t, options = {}) {
  const proxies = await startMocks(t, 3)
  proxies[1].fault('slow', { delayMs: 40 })
  proxies[2].fault('slow', { delayMs: 60 })
  const clock = aheadClock()
  const rpc = createRpcClient({ providers: providersOf(proxies), strategy: 'adaptive', seed: 5, now: clock.now, ...options })
  t.after(() => rpc.dispose())
  await answers(rpc, 30)
  return { proxies, clock, rpc }
}

test('the quickest has the requests, a provider that became slow is left within 10, and comes back within two half-lives', async (t) => {
  const { proxies: [quick], clock, rpc } = await startKnown(t)
  assert.ok(share(await answers(rpc, 30), 'a') >= 0.9)

  quick.fault('slow', { delayMs: 400 })
  await answers(rpc, 10)
  assert.equal(share(await answers(rpc, 20), 'a'), 0)

  quick.heal()
  const steps = 40
  await answers(rpc, steps, () => { clock.aheadMs += (2 * HALF_LIFE_MS) / steps })
  const since = await answers(rpc, 30)
  assert.ok(share(since, 'a') >= 0.9, `${since}`)
})

test('a provider that hangs or breaks is left as well', async (t) => {
  for (const [fault, options] of [['hang', { attemptTimeoutMs: 150 }], ['status', { status: 500 }], ['rateLimited', { retryAfter: 60 }], ['reset', {}]]) {
    const { proxies: [quick], rpc } = await startKnown(t, { attemptTimeoutMs: options.attemptTimeoutMs })
    quick.fault(fault, options)
    const names = await answers(rpc, 10)
    assert.equal(share(names, 'a'), 0, fault)
    const before = quick.counters.total
    await answers(rpc, 20)
    assert.ok(quick.counters.total - before <= 2, `${fault}: asked ${quick.counters.total - before} times more`)
  }
})

test('all requests at once do not go to one provider only when it cannot bear them', async (t) => {
  const proxies = await startMocks(t, 3)
  for (const proxy of proxies) proxy.fault('slow', { delayMs: 30 })
  const rpc = createRpcClient({ providers: providersOf(proxies), strategy: 'adaptive', seed: 5 })
  t.after(() => rpc.dispose())
  await Promise.all(Array.from({ length: 90 }, () => rpc.request(WHO)))
  for (const { counters } of proxies) assert.ok(counters.total >= 15, `${counters.total} of 90`)
})

test('a method that may not be repeated is sent once, whatever is probed beside it', async (t) => {
  const { proxies, rpc } = await startKnown(t)
  for (let call = 0; call < 20; call += 1) await rpc.request({ method: 'eth_sendTransaction', params: [{}] })
  assert.equal(proxies.reduce((sum, { counters }) => sum + counters.of('eth_sendTransaction'), 0), 20)
})

test('explain tells the order of adaptive, as the strategy of the client and of the question', async (t) => {
  const { rpc } = await startKnown(t)
  for (const own of [{}, { strategy: 'adaptive' }]) {
    const rows = rpc.explain({ method: WHO.method, ...own })
    assert.deepEqual(rows.map(({ rank }) => rank), [1, 2, 3])
    assert.equal(rows[0].provider, 'a')
    for (const { latencyMs } of rows.slice(1)) assert.ok(rows[0].latencyMs < (latencyMs ?? Infinity), `${rows[0].latencyMs} ${latencyMs}`)
    assert.ok(rows[0].share > 0.9, `${rows[0].share}`)
  }
  const plain = createRpcClient({ providers: ['https://a.test', 'https://b.test'] })
  assert.equal(plain.explain({ method: 'eth_call', strategy: 'adaptive' }).length, 2)
  plain.dispose()
})

test('adaptive may be named by the client, a profile, a call and a bound chain, and is in the metadata', async (t) => {
  const proxies = await startMocks(t, 2)
  const chains = { ethereum: { chainId: 1, providers: providersOf(proxies) } }
  const cases = [
    [{ strategy: 'adaptive', chains }, {}],
    [{ profiles: { p: { strategy: 'adaptive', chains } } }, { profile: 'p' }],
    [{ chains }, { strategy: 'adaptive' }],
  ]
  for (const [options, own] of cases) {
    const rpc = createRpcClient({ seed: 1, ...options })
    t.after(() => rpc.dispose())
    const { response, meta } = await rpc.send({ jsonrpc: '2.0', id: 1, ...WHO }, own)
    assert.match(response.result, /^mock/)
    assert.equal(meta.strategy, 'adaptive')
    assert.match(await rpc.chain('ethereum', own).request(WHO), /^mock/)
  }
})

for (const path of ['/rpc/adaptive/ethereum', '/rpc/adaptive/1', '/rpc/profile/default/adaptive/ethereum']) {
  test(`the endpoint has a path for it: ${path}`, async (t) => {
    const proxies = await startMocks(t, 2)
    const rpc = createRpcClient({ seed: 1, chains: { ethereum: { chainId: 1, providers: providersOf(proxies) } } })
    t.after(() => rpc.dispose())
    const { fetch } = createRpcHandler(rpc)
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 3, ...WHO })
    const response = await fetch(new Request(`https://edge.test${path}?include_meta=body`, { method: 'POST', headers, body }))
    const { result, lasso_meta: meta } = await response.json()
    assert.equal(response.status, 200)
    assert.match(result, /^mock/)
    assert.equal(meta.strategy, 'adaptive')
  })
}

test('the class is a strategy object of an RPC client', async (t) => {
  const { proxies: [quick], rpc } = await startKnown(t, { strategy: new AdaptiveRoutingStrategy() })
  assert.ok(share(await answers(rpc, 20), 'a') >= 0.9)
  quick.fault('slow', { delayMs: 400 })
  await answers(rpc, 10)
  assert.equal(share(await answers(rpc, 10), 'a'), 0)
  assert.equal((await rpc.send({ jsonrpc: '2.0', id: 1, ...WHO })).meta.strategy, 'adaptive')
})

test('the class routes content: a gateway that became slow is left within 10 requests', async (t) => {
  const gateways = await Promise.all(['a', 'b', 'c'].map((tag) => startGateway(t, { tag })))
  const gatewaysProvider = new StaticGatewaysProvider({ gateways: gateways.map(({ url }) => url) })
  const wayfinder = createWayfinderClient({ routingStrategy: new AdaptiveRoutingStrategy({ gatewaysProvider }) })
  const served = async (count) => {
    const tags = []
    for (let call = 0; call < count; call += 1) {
      const response = await wayfinder.request(`ar://${IDS.text}`)
      tags.push(response.headers.get('x-test-gateway'))
      await response.text()
    }
    return tags
  }
  await served(30)
  const most = (await served(1))[0]
  gateways.find(({ tag }) => tag === most).fault('slow', { delayMs: 400 })
  await served(10)
  const after = await served(10)
  assert.ok(!after.includes(most), `${most} was slow: ${after}`)
})

test('used alone, the class probes each gateway once, takes the quickest, and believes what is reported', async (t) => {
  const [a, b, c] = urls('a', 'b', 'c')
  const world = fakeGateways(t, { 'https://a': { ms: 1 }, 'https://b': { ms: 60 }, 'https://c': 'refuse' })
  const strategy = new AdaptiveRoutingStrategy({ gatewaysProvider: countedProvider([c, b, a]) })
  assert.equal(strategy.name, 'adaptive')
  for (let call = 0; call < 10; call += 1) assert.equal(await strategy.selectGateway(), a)
  assert.equal(world.seen.length, 3)
  for (let call = 0; call < 10; call += 1) strategy.report({ gateway: a, ok: true, ms: 900 })
  assert.equal(await strategy.selectGateway(), b)
  await assert.rejects(strategy.selectGateway({ gateways: [] }), { message: 'No gateways available' })
})

test('options of the class are checked', () => {
  assert.throws(() => new AdaptiveRoutingStrategy({ timeoutMs: 0 }), { name: 'RangeError', message: /timeoutMs/ })
})

// In a process of its own: that package replaces the global Promise.
const INSIDE = `
  const [clientUrl, gatewaysUrl, waypostUrl, id, ...gateways] = process.argv.slice(1)
  const { createWayfinderClient } = await import(clientUrl)
  const { StaticGatewaysProvider } = await import(gatewaysUrl)
  const { AdaptiveRoutingStrategy } = await import(waypostUrl)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const gatewaysProvider = new StaticGatewaysProvider({ gateways, logger })
  const client = createWayfinderClient({ logger, routingStrategy: new AdaptiveRoutingStrategy({ gatewaysProvider, logger }) })
  const tags = []
  for (let call = 0; call < 6; call += 1) {
    const response = await client.request('ar://' + id)
    tags.push(response.headers.get('x-test-gateway'))
    await response.text()
  }
  console.log(JSON.stringify(tags))
  process.exit()
`

test("the class is a strategy of Wayfinder's own client", async (t) => {
  const gateways = await Promise.all(['a', 'b'].map((tag) => startGateway(t, { tag })))
  gateways[0].fault('slow', { delayMs: 100 })
  const theirs = (file) => new URL(`../../node_modules/@ar.io/wayfinder-core/dist/${file}.js`, import.meta.url).href
  const given = [theirs('client'), theirs('gateways/static'), import.meta.resolve('waypost'), IDS.text, ...gateways.map(({ url }) => url)]
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', INSIDE, ...given], { cwd })
  assert.deepEqual(JSON.parse(stdout.trim().split('\n').at(-1)), Array(6).fill('b'))
})
