/** Failover after the choice: who is asked when a gateway fails, how often, and what the caller gets. */

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import test, { after } from 'node:test'
import * as waypost from 'waypost'
import { aheadClock, rejection } from '../support/client.mjs'
import { forbidUnhandled, spyStrategy } from '../support/fake-gateways.mjs'
import { IDS, startGateway, startGateways } from '../support/gateway.mjs'

forbidUnhandled(after)

const {
  CompositeRoutingStrategy, FastestPingRoutingStrategy, FastestRoutingStrategy, LatencyWeightedRoutingStrategy,
  LoadBalancedRoutingStrategy, PingRoutingStrategy, PreferredWithFallbackRoutingStrategy, PriorityRoutingStrategy,
  RandomRoutingStrategy, RoundRobinRoutingStrategy, SimpleCacheRoutingStrategy, StaticRoutingStrategy, Wayfinder, WaypostError,
} = waypost

const TEXT = `ar://${IDS.text}`
const TEXT_PATH = `/${IDS.text}`
const TEXT_BODY = 'hello permaweb\n'

const listOf = (urls) => ({ getGateways: async () => urls })
const urlsOf = (gateways) => gateways.map(({ url }) => new URL(url))

/** A client that asks in the order of the list. */
function inOrder(gateways, options = {}) {
  const urls = urlsOf(gateways)
  const strategy = new PriorityRoutingStrategy({ gatewaysProvider: listOf(urls) })
  return { urls, wayfinder: new Wayfinder({ routingSettings: { strategy }, ...options }) }
}

/** How often each gateway got a GET. */
const gets = (gateways) => gateways.map(({ counters }) => counters.of('GET'))

/** A gateway that ends every connection in the middle of its status line and headers. */
async function startTruncating(t) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-le'))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${server.address().port}`
}

const status = (code, headers) => (gateway, scope) => void gateway.fault('status', { status: code, headers, ...scope })

/** What a gateway can do instead of answering. */
const FAULTS = {
  'refused': (gateway) => gateway.refuse(),
  'reset': (gateway, scope) => void gateway.fault('reset', scope),
  'hanging': (gateway, scope) => void gateway.fault('hang', scope),
  '429': status(429),
  '429 for an hour': status(429, { 'retry-after': '3600' }),
  '500': status(500),
  '501': status(501),
  '503': status(503),
  '504': status(504),
  '521': status(521),
}

for (const [name, befall] of Object.entries(FAULTS)) {
  test(`${name}: the next gateway is asked, and each of them once`, async (t) => {
    const gateways = await startGateways(t, 3)
    await befall(gateways[0])
    await befall(gateways[1])
    const { urls, wayfinder } = inOrder(gateways, { attemptTimeoutMs: 300 })
    const response = await wayfinder.request(TEXT)
    assert.equal(response.status, 200)
    assert.equal(await response.text(), TEXT_BODY)
    assert.equal(response.gateway, urls[2], 'the object of the list')
    assert.deepEqual(gets(gateways), name === 'refused' ? [0, 0, 1] : [1, 1, 1])
    assert.deepEqual(response.attempts.map(({ provider, outcome }) => [provider, outcome]), [
      [urls[0].host, 'error'], [urls[1].host, 'error'], [urls[2].host, 'success'],
    ])
    for (const { ms } of response.attempts) assert.ok(Number.isInteger(ms) && ms >= 0)
  })
}

test('headers that break off: the next gateway is asked', async (t) => {
  const good = await startGateway(t)
  const { wayfinder } = inOrder([{ url: await startTruncating(t) }, good])
  const response = await wayfinder.request(TEXT)
  assert.equal(await response.text(), TEXT_BODY)
  assert.equal(response.attempts.length, 2)
})

for (const code of [404, 410, 405, 403, 401, 451]) {
  test(`${code} is an answer: it is returned, and nobody else is asked`, async (t) => {
    const gateways = await startGateways(t, 2)
    gateways[0].fault('status', { status: code, body: 'no', headers: { 'x-own': 'yes' } })
    const { urls, wayfinder } = inOrder(gateways)
    const response = await wayfinder.request(TEXT)
    assert.deepEqual([response.status, await response.text(), response.headers.get('x-own')], [code, 'no', 'yes'])
    assert.equal(response.gateway, urls[0])
    assert.deepEqual(gets(gateways), [1, 0])
    assert.equal(wayfinder.status()[0].circuit, 'closed')
  })
}

test('many answers of 404 never open a breaker', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 404 })
  const { wayfinder } = inOrder(gateways, { circuitBreaker: { failureThreshold: 1 } })
  for (let count = 0; count < 10; count += 1) await (await wayfinder.request(TEXT)).body?.cancel()
  assert.deepEqual(gets(gateways), [10, 0])
})

test('Range and If-None-Match pass: 206 and 304 come back as they are, from one GET each', async (t) => {
  const gateways = await startGateways(t, 2)
  const { wayfinder } = inOrder(gateways)
  const part = await wayfinder.request(TEXT, { headers: { Range: 'bytes=6-13' } })
  assert.deepEqual([part.status, await part.text(), part.headers.get('content-range')], [206, 'permaweb', 'bytes 6-13/15'])
  const etag = part.headers.get('etag')
  const known = await wayfinder.request(TEXT, { headers: new Headers({ 'if-none-match': etag }) })
  assert.deepEqual([known.status, known.body, await known.text()], [304, null, ''])
  assert.equal(known.gateway.host, gateways[0].host)
  assert.deepEqual(gets(gateways), [2, 0])
})

test('all fail with 5xx: the last of the answers is returned, body and all', async (t) => {
  const gateways = await startGateways(t, 3)
  gateways.forEach((gateway, at) => gateway.fault('status', { status: 500 + at, body: `from ${at}` }))
  const { urls, wayfinder } = inOrder(gateways)
  const response = await wayfinder.request(TEXT)
  assert.deepEqual([response.status, await response.text()], [502, 'from 2'])
  assert.equal(response.gateway, urls[2])
  assert.deepEqual(gets(gateways), [1, 1, 1])
})

test('a 5xx is better than nothing: it is returned although later gateways are dead', async (t) => {
  const gateways = await startGateways(t, 3)
  gateways[0].fault('status', { status: 503, body: 'busy' })
  gateways[1].fault('reset')
  await gateways[2].refuse()
  const { urls, wayfinder } = inOrder(gateways)
  const response = await wayfinder.request(TEXT)
  assert.deepEqual([response.status, await response.text()], [503, 'busy'])
  assert.equal(response.gateway, urls[0])
})

test('nobody answers: an error that names the hosts, and neither credentials nor queries', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('reset')
  await gateways[1].refuse()
  const urls = gateways.map(({ port }) => new URL(`http://127.0.0.1:${port}/base-secret?key=query-secret`))
  const strategy = new PriorityRoutingStrategy({ gatewaysProvider: listOf(urls) })
  const error = await rejection(new Wayfinder({ routingSettings: { strategy } }).request(`${TEXT}?token=path-secret`))
  assert.ok(error instanceof WaypostError)
  assert.equal(error.reason, 'exhausted')
  for (const { host } of gateways) assert.ok(error.message.includes(host), error.message)
  assert.doesNotMatch(JSON.stringify([error.message, error.attempts, error.toData()]), /secret/)
  assert.deepEqual(error.attempts.map(({ provider }) => provider), gateways.map(({ host }) => host))
})

test('a gateway with a password in its URL: the password is in no message', async (t) => {
  const gateway = await startGateway(t)
  const url = `http://user:pass-secret@${gateway.host}`
  const strategy = { selectGateway: async () => new URL(url) }
  const error = await rejection(new Wayfinder({ routingSettings: { strategy } }).request(TEXT))
  for (let each = error; each instanceof Error; each = each.cause) assert.doesNotMatch(each.stack, /pass-secret/)
})

test('all hang: the deadline ends it with reason deadline or exhausted, and closes the connections', async (t) => {
  const gateways = await startGateways(t, 3)
  for (const gateway of gateways) gateway.fault('hang')
  const { wayfinder } = inOrder(gateways, { attemptTimeoutMs: 100, deadlineMs: 150 })
  const error = await rejection(wayfinder.request(TEXT))
  assert.ok(error instanceof WaypostError)
  assert.ok(['deadline', 'exhausted'].includes(error.reason), error.reason)
  for (const { counters } of gateways) await counters.idle()
  assert.ok(gets(gateways).every((count) => count <= 1))
})

for (const [name, make, message] of [
  ['random', () => new RandomRoutingStrategy({ gatewaysProvider: listOf([]) }), 'No gateways available'],
  ['round-robin', () => new RoundRobinRoutingStrategy({ gateways: [] }), 'No gateways available'],
  ['fastest-ping', () => new FastestPingRoutingStrategy({ gatewaysProvider: listOf([]) }), 'No gateways provided'],
  ['ping', () => new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider: listOf([]) }) }),
    'No gateways available'],
  ['priority', () => new PriorityRoutingStrategy({ gatewaysProvider: listOf([]) }), 'No gateways available'],
]) {
  test(`${name}: no gateways, and the strategy's own error is what the caller sees`, async () => {
    const { message: seen } = await rejection(new Wayfinder({ routingSettings: { strategy: make() } }).request(TEXT))
    assert.equal(seen, message)
  })
}

/** Every strategy that knows the list, by name; `first` is a bad gateway. */
const STRATEGIES = {
  'random': (gatewaysProvider) => new RandomRoutingStrategy({ gatewaysProvider }),
  'round-robin': (gatewaysProvider) => new RoundRobinRoutingStrategy({ gatewaysProvider }),
  'fastest-ping': (gatewaysProvider) => new FastestPingRoutingStrategy({ gatewaysProvider, timeoutMs: 300 }),
  'fastest-ping, few at once': (gatewaysProvider) =>
    new FastestPingRoutingStrategy({ gatewaysProvider, timeoutMs: 300, maxConcurrency: 3 }),
  'ping over random': (gatewaysProvider) =>
    new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider }), timeoutMs: 300 }),
  'ping over round-robin': (gatewaysProvider) =>
    new PingRoutingStrategy({ routingStrategy: new RoundRobinRoutingStrategy({ gatewaysProvider }), timeoutMs: 300 }),
  'preferred': (gatewaysProvider, first) =>
    new PreferredWithFallbackRoutingStrategy({
      preferredGateway: first, fallbackStrategy: new FastestPingRoutingStrategy({ gatewaysProvider, timeoutMs: 300 }),
    }),
  'preferred, random fallback': (gatewaysProvider, first) =>
    new PreferredWithFallbackRoutingStrategy({ preferredGateway: first, fallbackStrategy: new RandomRoutingStrategy({ gatewaysProvider }) }),
  'cached fastest-ping': (gatewaysProvider) =>
    new SimpleCacheRoutingStrategy({ routingStrategy: new FastestPingRoutingStrategy({ gatewaysProvider, timeoutMs: 300 }) }),
  'cached random': (gatewaysProvider) =>
    new SimpleCacheRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider }) }),
  'composite of fastest-ping and random': (gatewaysProvider) =>
    new CompositeRoutingStrategy({
      strategies: [new FastestPingRoutingStrategy({ gatewaysProvider, timeoutMs: 300 }), new RandomRoutingStrategy({ gatewaysProvider })],
    }),
  'priority': (gatewaysProvider) => new PriorityRoutingStrategy({ gatewaysProvider }),
  'fastest': (gatewaysProvider) => new FastestRoutingStrategy({ gatewaysProvider }),
  'latency-weighted': (gatewaysProvider) => new LatencyWeightedRoutingStrategy({ gatewaysProvider }),
  'load-balanced': (gatewaysProvider) => new LoadBalancedRoutingStrategy({ gatewaysProvider }),
}

for (const [fault, befall] of Object.entries(FAULTS)) {
  for (const method of fault === 'refused' ? [undefined] : [undefined, 'GET']) {
    const scope = method === undefined ? '' : ' and answer HEAD as if nothing were'
    test(`19 of 20 are ${fault}${scope}: every strategy is served, with few HEADs`, { timeout: 60_000 }, async (t) => {
      const gateways = await startGateways(t, 20)
      for (const gateway of gateways.slice(0, 19)) await befall(gateway, { method })
      const urls = urlsOf(gateways)
      // Those that hang: as many at once as there are strategies, or this would take a minute.
      const isSlow = fault === 'hanging'
      const serve = async ([name, make]) => {
        if (!isSlow) for (const { counters } of gateways) counters.reset()
        const strategy = make(listOf(urls), gateways[0].url)
        const wayfinder = new Wayfinder({ routingSettings: { strategy }, attemptTimeoutMs: 300, deadlineMs: 60_000 })
        const response = await wayfinder.request(TEXT).catch((error) => assert.fail(`${name}: ${error.message}`))
        assert.equal(response.status, 200, name)
        assert.equal(await response.text(), TEXT_BODY, name)
        const hosts = response.attempts.map(({ provider }) => provider)
        assert.equal(new Set(hosts).size, hosts.length, `${name}: nobody is asked twice`)
        if (isSlow) return
        assert.ok(gets(gateways).every((count) => count <= 1), `${name}: ${gets(gateways)}`)
        // At most one race per attempt, each without those that have failed.
        const heads = gateways.reduce((sum, { counters }) => sum + counters.of('HEAD'), 0)
        assert.ok(heads <= (20 * 21) / 2, `${name}: ${heads} HEADs`)
      }
      if (isSlow) await Promise.all(Object.entries(STRATEGIES).map(serve))
      else for (const entry of Object.entries(STRATEGIES)) await serve(entry)
    })
  }
}

test('a composite whose first strategy has only the gateway that fails: the second one is asked', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 503 })
  const [first, second] = urlsOf(gateways)
  const strategy = new CompositeRoutingStrategy({
    strategies: [new StaticRoutingStrategy({ gateway: first }), new RandomRoutingStrategy({ gatewaysProvider: listOf([second]) })],
  })
  const response = await new Wayfinder({ routingSettings: { strategy } }).request(TEXT)
  assert.deepEqual([response.status, response.gateway], [200, second])
})

test('the next request does not go to a gateway whose breaker is open, and a recovered one returns', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 503 })
  const clock = aheadClock()
  const circuitBreaker = { failureThreshold: 1, recoveryMs: 10_000, jitter: 0, successThreshold: 1 }
  const { urls, wayfinder } = inOrder(gateways, { now: clock.now, circuitBreaker })
  const ask = async () => {
    const response = await wayfinder.request(TEXT)
    await response.text()
    return response.gateway
  }
  assert.equal(await ask(), urls[1])
  assert.deepEqual(gets(gateways), [1, 1])
  assert.equal(wayfinder.status().find(({ id }) => id === urls[0].host).circuit, 'open')
  assert.equal(await ask(), urls[1])
  assert.deepEqual(gets(gateways), [1, 2], 'the open one is left alone')
  gateways[0].heal()
  clock.aheadMs = 11_000
  for (let count = 0; count < 3; count += 1) await ask()
  assert.equal(await ask(), urls[0], 'it has come back')
})

test('a gateway with an open breaker is still asked if it is the only one', async (t) => {
  const [gateway] = await startGateways(t, 1)
  gateway.fault('reset', { times: 1 })
  const strategy = new StaticRoutingStrategy({ gateway: gateway.url })
  const wayfinder = new Wayfinder({ routingSettings: { strategy }, circuitBreaker: { failureThreshold: 1 } })
  await rejection(wayfinder.request(TEXT))
  assert.equal(await (await wayfinder.request(TEXT)).text(), TEXT_BODY)
})

test('a slow gateway is joined by another, whose answer wins; the loser is hung up on', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('hang')
  const { urls, wayfinder } = inOrder(gateways)
  const response = await wayfinder.request(TEXT)
  assert.equal(await response.text(), TEXT_BODY)
  assert.equal(response.gateway, urls[1])
  await gateways[0].counters.until(({ aborted }) => aborted === 1)
  await gateways[0].counters.idle()
})

test('a failed request ends a cached choice: the next selection is a new one', async (t) => {
  const gateways = await startGateways(t, 2)
  const urls = urlsOf(gateways)
  const inner = spyStrategy(({ exclude = [] }) => urls.find((url) => !exclude.includes(url)))
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner })
  const wayfinder = new Wayfinder({ routingSettings: { strategy } })
  const ask = async () => {
    const response = await wayfinder.request(TEXT)
    await response.text()
    return response.gateway
  }
  for (let count = 0; count < 3; count += 1) assert.equal(await ask(), urls[0])
  assert.equal(inner.seen.length, 1)
  gateways[0].fault('reset')
  assert.equal(await ask(), urls[1])
  assert.equal(inner.seen.length, 2)
  for (let count = 0; count < 3; count += 1) assert.equal(await ask(), urls[1])
  assert.deepEqual(gets(gateways), [4, 4], 'the one that failed is not tried first again')
  assert.equal(inner.seen.length, 2)
})

test('100 requests through a cached race cost one race', async (t) => {
  const gateways = await startGateways(t, 5)
  const strategy = new SimpleCacheRoutingStrategy({
    routingStrategy: new FastestPingRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) }),
  })
  const wayfinder = new Wayfinder({ routingSettings: { strategy } })
  await Promise.all(Array.from({ length: 50 }, async () => (await wayfinder.request(TEXT)).text()))
  for (let count = 0; count < 50; count += 1) await (await wayfinder.request(TEXT)).text()
  const heads = gateways.map(({ counters }) => counters.of('HEAD'))
  assert.ok(heads.every((count) => count <= 1), `${heads}`)
  assert.equal(gets(gateways).reduce((sum, count) => sum + count), 100)
})
