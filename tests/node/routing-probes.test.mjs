/** Strategies that ask a gateway before they choose it. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import {
  CompositeRoutingStrategy,
  FastestPingRoutingStrategy,
  PingRoutingStrategy,
  PreferredWithFallbackRoutingStrategy,
  RandomRoutingStrategy,
  RoundRobinRoutingStrategy,
  StaticRoutingStrategy,
} from 'waypost'
import { rejection } from '../support/client.mjs'
import { countedProvider, fakeGateways, forbidUnhandled, manyUrls, settle, spyStrategy, urls } from '../support/fake-gateways.mjs'

forbidUnhandled(after)

const [a, b, c] = urls('a', 'b', 'c')
const UNHEALTHY = [304, 400, 401, 403, 404, 405, 410, 429, 500, 502, 503, 504]
const NOT_ONE_WORKS = { message: 'All gateways failed to respond' }
const NO_WORKING = { message: 'Failed to find working gateway after HEAD checks' }
const NONE_CHOSE = { message: 'All routing strategies failed to select a gateway' }
const ELSEWHERE = [
  'https://evil.test/x', '//evil.test/x', '/https://evil.test/x', '///evil.test', '\\\\evil.test', '/\\evil.test',
  '@evil.test/', ':80@evil.test/', '.evil.test/', 'foo:bar', '/../../evil.test', '?@evil.test', '#@evil.test', '\t//evil.test',
]

/** `count` gateways that answer after `ms`, but for the one at `quick`, which answers at once. */
function raceOf(count, ms, quick) {
  const gateways = manyUrls(count)
  const answers = Object.fromEntries(gateways.map(({ origin }, at) => [origin, { ms: at === quick ? 0 : ms }]))
  return { gateways, answers }
}

/** Four bad gateways and a good one, with the hosts of their own that `name` gives. */
function oneGoodOfFive(name, answers) {
  const gateways = urls(...['v', 'w', 'x', 'y', 'z'].map((host) => `${host}${name}`))
  gateways.forEach(({ origin }, at) => (answers[origin] = at === 4 ? 200 : [503, 'refuse', 404, 429][at]))
  return gateways
}

test('fastest ping: the quickest healthy gateway wins, as the object of the list', async (t) => {
  fakeGateways(t, { 'https://a.': { ms: 200 }, 'https://b.': { ms: 5 }, 'https://c.': { ms: 100 } })
  assert.equal(await new FastestPingRoutingStrategy().selectGateway({ gateways: [a, b, c] }), b)
})

for (const status of UNHEALTHY) {
  test(`fastest ping and ping: a gateway that answers ${status} is not healthy`, async (t) => {
    fakeGateways(t, { 'https://a.': status, 'https://b.': { status: 204, ms: 10 } })
    assert.equal(await new FastestPingRoutingStrategy().selectGateway({ gateways: [a, b] }), b)
    await assert.rejects(new FastestPingRoutingStrategy().selectGateway({ gateways: [a] }), NOT_ONE_WORKS)
    const ping = new PingRoutingStrategy({ routingStrategy: new StaticRoutingStrategy({ gateway: a.href }), retries: 1 })
    await assert.rejects(ping.selectGateway({ gateways: [a] }), NO_WORKING)
  })
}

test('probes are HEADs to the root of the own host, whatever path and subdomain are asked for, without headers', async (t) => {
  const odd = new URL('https://c.test:8443/base/?key=1#top')
  const world = fakeGateways(t, { 'https://': 200 })
  const params = { path: '/a/b?c=1', subdomain: 'ardrive' }
  for (const gateway of [a, odd]) {
    await new FastestPingRoutingStrategy().selectGateway({ ...params, gateways: [gateway] })
    await new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy() }).selectGateway({ ...params, gateways: [gateway] })
  }
  const expected = ['HEAD https://a.test/', 'HEAD https://c.test:8443/'].flatMap((request) => [request, request])
  assert.deepEqual(world.requests(), expected)
  for (const { headers, signal } of world.seen) {
    assert.deepEqual(headers, [])
    assert.ok(signal instanceof AbortSignal)
  }
})

test('probePath says where probes go', async (t) => {
  const world = fakeGateways(t, { 'https://a.test/ar-io/healthcheck': 200 })
  const probePath = '/ar-io/healthcheck'
  const inner = new StaticRoutingStrategy({ gateway: 'https://a.test' })
  await new FastestPingRoutingStrategy({ probePath }).selectGateway({ gateways: [a], path: '/x' })
  await new PingRoutingStrategy({ probePath, routingStrategy: inner }).selectGateway({ path: '/x', subdomain: 'y' })
  assert.deepEqual(world.requests(), Array(2).fill('HEAD https://a.test/ar-io/healthcheck'))
})

for (const elsewhere of ELSEWHERE) {
  test(`no probe leaves its host for ${JSON.stringify(elsewhere)}, be it path, subdomain or probePath`, async (t) => {
    const world = fakeGateways(t, { 'https://a.test/': 200 })
    const inner = new StaticRoutingStrategy({ gateway: 'https://a.test' })
    for (const params of [{ path: elsewhere }, { path: '/', subdomain: elsewhere }]) {
      assert.equal(await new FastestPingRoutingStrategy().selectGateway({ ...params, gateways: [a] }), a)
      await new PingRoutingStrategy({ routingStrategy: inner }).selectGateway({ ...params, gateways: [a] })
    }
    assert.deepEqual(world.requests(), Array(4).fill('HEAD https://a.test/'))
    // Refusing such a probePath is as good as asking the own host for it.
    for (const make of [
      () => new FastestPingRoutingStrategy({ probePath: elsewhere }),
      () => new PingRoutingStrategy({ probePath: elsewhere, routingStrategy: inner }),
    ]) {
      await Promise.resolve().then(() => make().selectGateway({ gateways: [a] })).catch(() => undefined)
    }
    assert.deepEqual(Object.keys(world.counts()), ['https://a.test'])
  })
}

test('fastest ping: the losers are aborted as soon as there is a winner', async (t) => {
  const world = fakeGateways(t, { 'https://a.': 'hang', 'https://b.': { ms: 5 }, 'https://c.': 'hang' })
  assert.equal(await new FastestPingRoutingStrategy({ timeoutMs: 30_000 }).selectGateway({ gateways: [a, b, c] }), b)
  await settle()
  assert.deepEqual(world.seen.map(({ origin, signal }) => [origin, signal.aborted || origin === b.origin]), [
    [a.origin, true], [b.origin, true], [c.origin, true],
  ])
  assert.equal(world.inFlight, 0)
})

for (const quick of [0, 40, 79]) {
  test(`fastest ping: of 80 gateways the quickest wins at place ${quick}, with at most 50 asked at once`, async (t) => {
    const { gateways, answers } = raceOf(80, 60, quick)
    const world = fakeGateways(t, answers)
    assert.equal(await new FastestPingRoutingStrategy().selectGateway({ gateways, path: '/' }), gateways[quick])
    assert.ok(world.peak <= 50, `${world.peak} in flight`)
    assert.ok(Object.values(world.counts()).every((count) => count === 1), 'nobody is asked twice')
  })
}

for (const maxConcurrency of [1, 2, 3, 4, 5]) {
  test(`fastest ping: the quickest wins at the end of a list with maxConcurrency ${maxConcurrency}`, async (t) => {
    const { gateways, answers } = raceOf(8, 30, 7)
    const world = fakeGateways(t, answers)
    assert.equal(await new FastestPingRoutingStrategy({ maxConcurrency }).selectGateway({ gateways }), gateways[7])
    assert.ok(world.peak <= maxConcurrency, `${world.peak} in flight`)
  })
}

test('fastest ping: gateways that do not answer give way to those behind them', async (t) => {
  const gateways = manyUrls(5)
  fakeGateways(t, { 'https://': 'hang', 'https://g1.': 503, 'https://g4.': 200 })
  const strategy = new FastestPingRoutingStrategy({ maxConcurrency: 2, timeoutMs: 40 })
  assert.equal(await strategy.selectGateway({ gateways }), gateways[4])
})

test('fastest ping: without a healthy gateway, the text, and as its cause what was asked', async (t) => {
  const world = fakeGateways(t, { 'https://a.': 500, 'https://b.': 'refuse', 'https://c.': 'hang' })
  const params = { gateways: [a, b, c], path: '/x', subdomain: 'y' }
  const { message, cause } = await rejection(new FastestPingRoutingStrategy({ timeoutMs: 20 }).selectGateway(params))
  assert.equal(message, NOT_ONE_WORKS.message)
  assert.deepEqual([cause.path, cause.subdomain, cause.gateways.map(String)], ['/x', 'y', params.gateways.map(String)])
  assert.equal(world.seen.find(({ origin }) => origin === c.origin).signal.aborted, true, 'the one that hung')
})

test('fastest ping: where its list comes from, and that it needs one', async (t) => {
  const world = fakeGateways(t, { 'https://': 200 })
  const gatewaysProvider = countedProvider([a])
  const strategy = new FastestPingRoutingStrategy({ gatewaysProvider })
  assert.equal(await strategy.selectGateway({ path: '/' }), a)
  assert.equal(await strategy.selectGateway(), a)
  assert.equal(gatewaysProvider.calls, 2)
  assert.equal(await strategy.selectGateway({ gateways: [b] }), b)
  const asked = world.seen.length
  const none = { message: 'No gateways provided' }
  await assert.rejects(strategy.selectGateway({ gateways: [] }), none)
  await assert.rejects(new FastestPingRoutingStrategy().selectGateway({ path: '/' }), none)
  await assert.rejects(new FastestPingRoutingStrategy().selectGateway(), none)
  const reason = new Error('the registry is down')
  const broken = new FastestPingRoutingStrategy({ gatewaysProvider: { getGateways: async () => Promise.reject(reason) } })
  assert.equal(await rejection(broken.selectGateway({})), reason)
  assert.equal(world.seen.length, asked)
})

test('fastest ping: what is excluded is not asked', async (t) => {
  const world = fakeGateways(t, { 'https://': 200, 'https://b.': { ms: 5 } })
  const strategy = new FastestPingRoutingStrategy()
  assert.equal(await strategy.selectGateway({ gateways: [a, b, c], exclude: [a, c] }), b)
  assert.deepEqual(world.requests(), ['HEAD https://b.test/'])
})

const probing = {
  'fastest ping': () => new FastestPingRoutingStrategy({ timeoutMs: 30_000 }),
  'ping': () => new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy(), timeoutMs: 30_000 }),
  'two pings in composite': () => new CompositeRoutingStrategy({ strategies: [probing.ping(), probing.ping()] }),
  'one ping in composite': () => new CompositeRoutingStrategy({ strategies: [probing.ping()] }),
}

for (const [name, make] of Object.entries(probing)) {
  test(`${name}: the caller's signal aborts every probe, and starts none when it is already aborted`, async (t) => {
    const world = fakeGateways(t, { 'https://': 'hang' })
    const controller = new AbortController()
    const failed = rejection(make().selectGateway({ gateways: [a, b, c], signal: controller.signal }))
    await settle()
    assert.ok(world.inFlight > 0)
    const asked = world.seen.length
    controller.abort()
    assert.equal((await failed).name, 'AbortError')
    await settle()
    assert.ok(world.seen.every(({ signal }) => signal.aborted))
    assert.deepEqual([world.inFlight, world.seen.length], [0, asked])
    await rejection(make().selectGateway({ gateways: [a, b, c], signal: AbortSignal.abort() }))
    await settle()
    assert.equal(world.inFlight, 0)
    assert.equal(world.seen.length, asked)
  })
}

test('ping: the choice of the inner strategy if it is healthy, after one HEAD', async (t) => {
  const world = fakeGateways(t, { 'https://': 200 })
  const inner = spyStrategy(({ gateways }) => gateways[1])
  const strategy = new PingRoutingStrategy({ routingStrategy: inner })
  assert.equal(await strategy.selectGateway({ gateways: [a, b, c], path: '/x', subdomain: 'y' }), b)
  const { gateways, path, subdomain } = inner.seen[0]
  assert.deepEqual([gateways, path, subdomain], [[a, b, c], '/x', 'y'])
  assert.deepEqual(world.requests(), ['HEAD https://b.test/'])
})

test('ping: 1 good gateway of 5 is always found by 5 attempts at 5 different ones', async (t) => {
  const answers = {}
  const world = fakeGateways(t, answers)
  const strategy = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy() })
  // With replacement, one round in three would fail.
  for (let round = 0; round < 60; round += 1) {
    const gateways = oneGoodOfFive(round, answers)
    assert.equal(await strategy.selectGateway({ gateways, path: '/' }), gateways[4])
  }
  assert.ok(Object.values(world.counts()).every((count) => count === 1))
})

test('ping: a foreign strategy that knows nothing but its list is led on as well', async (t) => {
  const answers = {}
  const world = fakeGateways(t, answers)
  const gateways = oneGoodOfFive('', answers)
  const strategy = new PingRoutingStrategy({ routingStrategy: { selectGateway: async (params) => params.gateways[0] } })
  assert.equal(await strategy.selectGateway({ gateways }), gateways[4])
  assert.deepEqual(world.requests(), gateways.map(({ href }) => `HEAD ${href}`))
  assert.equal(gateways.length, 5, 'the list of the caller is left alone')
})

test('ping: a strategy that insists on a gateway that failed does not keep it from the others of the list', async (t) => {
  fakeGateways(t, { 'https://a.': 503, 'https://b.': 200 })
  const strategy = new PingRoutingStrategy({ routingStrategy: { selectGateway: async () => a } })
  assert.equal(await strategy.selectGateway({ gateways: [a, b] }), b)
})

test('ping: the list of its own provider, and else that of the inner strategy, which is asked at each attempt', async (t) => {
  const world = fakeGateways(t, { 'https://a.': 503, 'https://b.': 200, 'https://c.': 200 })
  const own = countedProvider([c])
  const withList = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy(), gatewaysProvider: own })
  assert.equal(await withList.selectGateway({ path: '/' }), c)
  assert.equal(await withList.selectGateway({ gateways: [b] }), b, 'the list of the call comes before both')
  const inner = countedProvider((call) => (call === 1 ? [a] : [a, b]))
  const strategy = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider: inner }) })
  // The model's client writes a provider of its own into each strategy that has room for one.
  if ('gatewaysProvider' in strategy && strategy.gatewaysProvider === undefined) strategy.gatewaysProvider = own
  assert.equal(await strategy.selectGateway({ path: '/', subdomain: 'ardrive' }), b)
  assert.equal(inner.calls, 2)
  assert.deepEqual(world.requests(), ['c', 'b', 'a', 'b'].map((host) => `HEAD https://${host}.test/`))
})

test('ping: round-robin inside goes on where it stood', async (t) => {
  const world = fakeGateways(t, { 'https://a.': 503, 'https://b.': 'refuse', 'https://c.': 200 })
  const strategy = new PingRoutingStrategy({ routingStrategy: new RoundRobinRoutingStrategy({ gateways: [a, b, c] }) })
  assert.equal(await strategy.selectGateway({ path: '/' }), c)
  assert.deepEqual(world.counts(), { [a.origin]: 1, [b.origin]: 1, [c.origin]: 1 })
})

test('ping: a single gateway gets its further attempts', async (t) => {
  const world = fakeGateways(t, { 'https://a.': (call) => (call < 3 ? 503 : 200) })
  const random = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy() })
  assert.equal(await random.selectGateway({ gateways: [a] }), a)
  assert.equal(world.seen.length, 3)
  const fixed = new StaticRoutingStrategy({ gateway: 'https://a.test' })
  assert.equal((await new PingRoutingStrategy({ routingStrategy: fixed }).selectGateway({ path: '/' })).href, a.href)
})

test('ping: with more attempts than gateways, none is asked twice in a row', async (t) => {
  const world = fakeGateways(t, {})
  const strategy = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy(), retries: 6 })
  await assert.rejects(strategy.selectGateway({ gateways: [a, b] }), NO_WORKING)
  const asked = world.seen.map(({ origin }) => origin)
  assert.equal(asked.length, 6)
  assert.deepEqual(asked.filter((origin, at) => origin === asked[at - 1]), [])
})

test('ping: after all its attempts the text, and as its cause what was asked', async (t) => {
  const world = fakeGateways(t, { 'https://a.': 500, 'https://b.': 'hang' })
  const strategy = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy(), retries: 2, timeoutMs: 20 })
  const { message, cause } = await rejection(strategy.selectGateway({ gateways: [a, b], path: '/x', subdomain: 'y' }))
  assert.equal(message, NO_WORKING.message)
  const { gateways, path, subdomain, retries } = cause
  assert.deepEqual([gateways.map(String), path, subdomain, retries], [[a.href, b.href], '/x', 'y', 2])
  assert.deepEqual(world.counts(), { [a.origin]: 1, [b.origin]: 1 })
})

test('ping: an inner strategy that throws uses up an attempt; an empty list does not get that far', async (t) => {
  const world = fakeGateways(t, { 'https://': 200 })
  const moody = spyStrategy((_, call) => {
    if (call === 1) throw new Error('cannot choose')
    return a
  })
  assert.equal(await new PingRoutingStrategy({ routingStrategy: moody, retries: 2 }).selectGateway({ gateways: [a] }), a)
  const inner = spyStrategy(() => a)
  await assert.rejects(new PingRoutingStrategy({ routingStrategy: inner }).selectGateway({ gateways: [] }), {
    message: 'No gateways available',
  })
  assert.deepEqual([inner.seen.length, world.seen.length], [0, 1])
})

const asked = { 'without params': undefined, 'with a path only': { path: '/' }, 'with a list': { gateways: [b, c] } }

for (const [how, params] of Object.entries(asked)) {
  test(`preferred: asked ${how}, it tries the preferred gateway first and only then the fallback`, async (t) => {
    const world = fakeGateways(t, { 'https://own.': (call) => (call === 1 ? 200 : 503) })
    const fallbackStrategy = spyStrategy(() => b)
    const strategy = new PreferredWithFallbackRoutingStrategy({ preferredGateway: 'https://own.test', fallbackStrategy })
    assert.equal((await strategy.selectGateway(params)).href, 'https://own.test/')
    assert.equal(fallbackStrategy.seen.length, 0)
    assert.equal(await strategy.selectGateway(params), b)
    assert.equal(fallbackStrategy.seen.length, 1)
    assert.deepEqual(world.requests(), Array(2).fill('HEAD https://own.test/'))
  })
}

test('preferred: when the fallback fails too, the text of composite', async (t) => {
  fakeGateways(t, {})
  const strategy = new PreferredWithFallbackRoutingStrategy({ preferredGateway: 'https://own.test' })
  await assert.rejects(strategy.selectGateway({ path: '/' }), NONE_CHOSE)
  await assert.rejects(strategy.selectGateway({ gateways: [a, b] }), NONE_CHOSE)
})

test('preferred: the fallback in use when the call excludes the preferred gateway', async (t) => {
  fakeGateways(t, { 'https://': 200 })
  const fallbackStrategy = spyStrategy(() => b)
  const strategy = new PreferredWithFallbackRoutingStrategy({ preferredGateway: 'https://own.test', fallbackStrategy })
  assert.equal(await strategy.selectGateway({ exclude: [strategy.preferredGateway] }), b)
})
