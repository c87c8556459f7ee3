/** Strategies that choose without probing, and those that wrap others. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import {
  CompositeRoutingStrategy,
  RandomRoutingStrategy,
  RoundRobinRoutingStrategy,
  SimpleCacheRoutingStrategy,
  StaticRoutingStrategy,
} from 'waypost'
import { rejection } from '../support/client.mjs'
import {
  countedProvider,
  fakeGateways,
  forbidUnhandled,
  settle,
  spyStrategy,
  stoppedClocks,
  urls,
} from '../support/fake-gateways.mjs'

forbidUnhandled(after)

const DAY = 86_400_000
const NONE = { message: 'No gateways available' }
const [a, b, c] = urls('a', 'b', 'c')
const fails = () => {
  throw new Error('cannot choose')
}

test('static gives the same URL object whatever it is asked', async () => {
  const strategy = new StaticRoutingStrategy({ gateway: 'https://only.test' })
  const first = await strategy.selectGateway()
  assert.ok(first instanceof URL)
  assert.equal(first.href, 'https://only.test/')
  assert.equal(await strategy.selectGateway({ gateways: [a, b], path: '/x', subdomain: 'y' }), first)
  assert.equal(await strategy.selectGateway({ gateways: [] }), first)
})

test('random spreads evenly over the objects that it was given', async () => {
  const gateways = urls('a', 'b', 'c', 'd', 'e')
  const strategy = new RandomRoutingStrategy({})
  const draws = 5_000
  const counts = gateways.map(() => 0)
  for (let draw = 0; draw < draws; draw += 1) {
    const at = gateways.indexOf(await strategy.selectGateway({ gateways }))
    assert.notEqual(at, -1, 'an object of the list')
    counts[at] += 1
  }
  const expected = draws / gateways.length
  const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
  // Four degrees of freedom: P(χ² > 48) = (1 + 24)·e⁻²⁴ < 1e-9.
  assert.ok(chiSquare < 48, `χ² is ${chiSquare} for ${counts}`)
})

test('random draws again each time: no order repeats itself', async () => {
  const strategy = new RandomRoutingStrategy()
  const draws = []
  for (let draw = 0; draw < 300; draw += 1) draws.push(await strategy.selectGateway({ gateways: [a, b, c] }))
  const repeats = draws.filter((gateway, at) => gateway === draws[at - 1]).length
  // About 100 of 299; 30 or fewer, or 200 or more, has p < 1e-9.
  assert.ok(repeats > 30 && repeats < 200, `${repeats} repeats`)
})

test('random asks its provider every time, unless the call brings a list', async () => {
  const provider = countedProvider((call) => (call === 1 ? [a] : [b]))
  const strategy = new RandomRoutingStrategy({ gatewaysProvider: provider })
  assert.equal(await strategy.selectGateway(), a)
  assert.equal(await strategy.selectGateway({ path: '/' }), b)
  assert.equal(await strategy.selectGateway({ gateways: [c] }), c)
  assert.equal(provider.calls, 2)
})

test('random without gateways fails: no list, an empty one given, an empty one provided', async () => {
  const full = new RandomRoutingStrategy({ gatewaysProvider: countedProvider([a]) })
  await assert.rejects(new RandomRoutingStrategy({}).selectGateway(), NONE)
  await assert.rejects(full.selectGateway({ gateways: [] }), NONE)
  await assert.rejects(new RandomRoutingStrategy({ gatewaysProvider: countedProvider([]) }).selectGateway({}), NONE)
})

test('random and round-robin leave out what the call excludes', async () => {
  const random = new RandomRoutingStrategy({ gatewaysProvider: countedProvider([a, b, c]) })
  const balanced = new RoundRobinRoutingStrategy({ gateways: [a, b, c] })
  for (let call = 0; call < 50; call += 1) {
    assert.equal(await random.selectGateway({ exclude: [a, c] }), b)
    assert.equal(await balanced.selectGateway({ exclude: [b, c] }), a)
  }
})

test('a provider that fails is heard as it is', async () => {
  const reason = new Error('the registry is down')
  const broken = { getGateways: async () => Promise.reject(reason) }
  assert.equal(await rejection(new RandomRoutingStrategy({ gatewaysProvider: broken }).selectGateway()), reason)
  assert.equal(await rejection(new RoundRobinRoutingStrategy({ gatewaysProvider: broken }).selectGateway()), reason)
})

test('round-robin goes through its own list in order, whatever list the call brings', async () => {
  const strategy = new RoundRobinRoutingStrategy({ gateways: [a, b, c] })
  const other = urls('other')
  const chosen = []
  for (let call = 0; call < 7; call += 1) chosen.push(await strategy.selectGateway({ gateways: other }))
  assert.deepEqual(chosen.map(({ host }) => host[0]).join(''), 'abcabca')
  assert.deepEqual(chosen.map((url) => [a, b, c].indexOf(url)), [0, 1, 2, 0, 1, 2, 0], 'the same objects')
})

test('round-robin with a single gateway repeats it, with an empty list it fails', async () => {
  const single = new RoundRobinRoutingStrategy({ gateways: [a] })
  for (let call = 0; call < 3; call += 1) assert.equal(await single.selectGateway(), a)
  await assert.rejects(new RoundRobinRoutingStrategy({ gateways: [] }).selectGateway(), NONE)
})

test('round-robin without a list of its own uses that of the call, and else the two that are built in', async () => {
  const strategy = new RoundRobinRoutingStrategy()
  const chosen = []
  for (let call = 0; call < 3; call += 1) chosen.push(await strategy.selectGateway({ gateways: [a, b] }))
  assert.deepEqual(chosen, [a, b, a])
  const alone = new RoundRobinRoutingStrategy({})
  const hosts = []
  for (let call = 0; call < 3; call += 1) hosts.push((await alone.selectGateway()).href)
  assert.deepEqual(hosts, ['https://turbo-gateway.com/', 'https://g8way.io/', 'https://turbo-gateway.com/'])
})

test('round-robin: first calls at the same time share one load and get different gateways', async () => {
  const provider = countedProvider([a, b, c])
  const strategy = new RoundRobinRoutingStrategy({ gatewaysProvider: provider })
  const first = await Promise.all([strategy.selectGateway(), strategy.selectGateway(), strategy.selectGateway()])
  assert.deepEqual(new Set(first), new Set([a, b, c]))
  assert.equal(await strategy.selectGateway(), a)
  assert.equal(provider.calls, 1)
})

test('round-robin: a failed or empty load is tried again, and a good list is refreshed within a day', async (t) => {
  const clocks = stoppedClocks(t)
  const provider = countedProvider((call) => {
    if (call === 1) fails()
    return [[], [a], [b]][Math.min(call - 2, 2)]
  })
  const strategy = new RoundRobinRoutingStrategy({ gatewaysProvider: provider })
  await assert.rejects(strategy.selectGateway(), { message: 'cannot choose' })
  await assert.rejects(strategy.selectGateway(), NONE)
  assert.equal(await strategy.selectGateway(), a)
  assert.equal(await strategy.selectGateway(), a)
  assert.equal(provider.calls, 3)
  clocks.ms += DAY
  await strategy.selectGateway()
  await settle()
  assert.equal(await strategy.selectGateway(), b)
  assert.equal(provider.calls, 4)
})

for (const [what, later] of [['an empty list', async () => []], ['a failure', async () => fails()]]) {
  test(`round-robin: ${what} at a refresh leaves the old list in use`, async (t) => {
    const clocks = stoppedClocks(t)
    const provider = { getGateways: async () => [a, b] }
    const strategy = new RoundRobinRoutingStrategy({ gatewaysProvider: provider })
    assert.equal(await strategy.selectGateway(), a)
    provider.getGateways = later
    clocks.ms += DAY
    const chosen = []
    for (let call = 0; call < 4; call += 1) {
      chosen.push(await strategy.selectGateway())
      await settle()
    }
    assert.deepEqual(new Set(chosen), new Set([a, b]))
  })
}

test('composite asks in order, passes the very params, and stops at the first choice', async () => {
  const params = { gateways: [a, b], path: '/x', subdomain: 'y' }
  const before = { ...params, gateways: [...params.gateways] }
  const first = spyStrategy(fails)
  const second = spyStrategy(() => undefined)
  const third = spyStrategy(({ gateways }) => gateways[1])
  const fourth = spyStrategy(() => c)
  const strategy = new CompositeRoutingStrategy({ strategies: [first, second, third, fourth] })
  assert.equal(await strategy.selectGateway(params), b)
  for (const { seen } of [first, second, third]) assert.equal(seen[0], params)
  assert.deepEqual([first, second, third, fourth].map(({ seen }) => seen.length), [1, 1, 1, 0])
  assert.deepEqual(params, before)
})

test('composite fails with its text when none can choose, also without params', async () => {
  const failed = { message: 'All routing strategies failed to select a gateway' }
  const strategy = new CompositeRoutingStrategy({ strategies: [spyStrategy(fails), spyStrategy(() => undefined)] })
  await assert.rejects(strategy.selectGateway({}), failed)
  await assert.rejects(strategy.selectGateway(), failed)
})

test('composite can grow, and shows a copy of what it has', async () => {
  const first = spyStrategy(fails)
  const strategy = new CompositeRoutingStrategy({ strategies: [first] })
  const shown = strategy.getStrategies()
  assert.deepEqual(shown, [first])
  assert.equal(shown[0], first)
  shown.push(spyStrategy(() => c))
  assert.equal(strategy.getStrategies().length, 1)
  const added = spyStrategy(() => b)
  strategy.addStrategy(added)
  assert.equal(strategy.getStrategies()[1], added)
  assert.equal(await strategy.selectGateway({}), b)
})

test('composite with a static strategy first always takes it, unprobed', async (t) => {
  const world = fakeGateways(t, {})
  const strategy = new CompositeRoutingStrategy({
    strategies: [new StaticRoutingStrategy({ gateway: 'https://own.test' }), spyStrategy(() => b)],
  })
  assert.equal((await strategy.selectGateway({ path: '/x' })).href, 'https://own.test/')
  assert.deepEqual(world.requests(), [])
})

test('cache: one choice until its time is over, whatever the call is for', async (t) => {
  const clocks = stoppedClocks(t)
  const inner = spyStrategy((_, call) => (call === 1 ? a : b))
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner, ttlSeconds: 2.5 })
  const params = { gateways: [a, b], path: '/x', subdomain: 'y' }
  assert.equal(await strategy.selectGateway(params), a)
  assert.deepEqual(inner.seen[0], params)
  assert.equal(await strategy.selectGateway({ gateways: [b], path: '/other' }), a)
  clocks.ms += 2_499
  assert.equal(await strategy.selectGateway({}), a)
  assert.equal(inner.seen.length, 1)
  clocks.ms += 2
  assert.equal(await strategy.selectGateway({}), b)
  assert.equal(await strategy.selectGateway({}), b)
  assert.equal(inner.seen.length, 2)
})

test('cache: callers at the same time share one inner call, at first and when it is renewed', async (t) => {
  const clocks = stoppedClocks(t)
  const inner = spyStrategy(async (_, call) => {
    await settle()
    return call === 1 ? a : b
  })
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner, ttlSeconds: 10 })
  const together = () => Promise.all([strategy.selectGateway({}), strategy.selectGateway({}), strategy.selectGateway({})])
  assert.deepEqual(await together(), [a, a, a])
  assert.equal(inner.seen.length, 1)
  clocks.ms += 11_000
  assert.deepEqual(await together(), [b, b, b])
  assert.equal(inner.seen.length, 2)
})

test('cache: a leader that aborts takes nobody with it', async () => {
  const controller = new AbortController()
  const inner = spyStrategy(async ({ signal }) => {
    await settle()
    signal?.throwIfAborted()
    return a
  })
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner })
  const leader = strategy.selectGateway({ signal: controller.signal }).catch(() => undefined)
  const follower = strategy.selectGateway({})
  controller.abort()
  assert.equal(await follower, a)
  await leader
})

test('cache: without an old choice, leader and followers get the inner error, and the next call tries anew', async () => {
  const reason = new Error('cannot choose')
  const inner = spyStrategy(async (_, call) => {
    await settle()
    if (call === 1) throw reason
    return a
  })
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner })
  const failed = await Promise.all([rejection(strategy.selectGateway({})), rejection(strategy.selectGateway({}))])
  assert.deepEqual(failed, [reason, reason])
  assert.equal(failed[0], reason)
  assert.equal(await strategy.selectGateway({}), a)
})

test('cache: when renewing fails, leader and followers get the old choice; the inner object may change its method', async (t) => {
  const clocks = stoppedClocks(t)
  const inner = { selectGateway: async () => a }
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner, ttlSeconds: 10 })
  assert.equal(await strategy.selectGateway({}), a)
  let calls = 0
  inner.selectGateway = async () => {
    calls += 1
    await settle()
    return fails()
  }
  clocks.ms += 11_000
  assert.deepEqual(await Promise.all([strategy.selectGateway({}), strategy.selectGateway({}), strategy.selectGateway({})]), [a, a, a])
  assert.equal(calls, 1)
  inner.selectGateway = async () => b
  clocks.ms += 11_000
  assert.equal(await strategy.selectGateway({}), b)
})

test('cache: a call that excludes the cached gateway chooses anew, and the new choice is kept', async () => {
  const inner = spyStrategy(({ exclude }) => (exclude?.includes(a) ? b : a))
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner })
  assert.equal(await strategy.selectGateway({}), a)
  assert.equal(await strategy.selectGateway({ exclude: [c] }), a, 'another gateway is excluded')
  assert.equal(inner.seen.length, 1)
  assert.equal(await strategy.selectGateway({ exclude: [a] }), b)
  assert.equal(await strategy.selectGateway({}), b)
  assert.equal(inner.seen.length, 2)
})

test('cache: a call that excludes the cached gateway never gets it back when choosing anew fails', async () => {
  const inner = spyStrategy((_, call) => (call === 1 ? a : fails()))
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner })
  assert.equal(await strategy.selectGateway({}), a)
  await assert.rejects(strategy.selectGateway({ exclude: [a] }), { message: 'cannot choose' })
})

test('cache: a time of 0 keeps nothing', async () => {
  const inner = spyStrategy((_, call) => (call % 2 === 0 ? b : a))
  const strategy = new SimpleCacheRoutingStrategy({ routingStrategy: inner, ttlSeconds: 0 })
  assert.deepEqual([await strategy.selectGateway({}), await strategy.selectGateway({}), await strategy.selectGateway({})], [a, b, a])
})

test('strategies nest, and the object of the list comes out at the top', async () => {
  const strategy = new SimpleCacheRoutingStrategy({
    routingStrategy: new CompositeRoutingStrategy({
      strategies: [new RandomRoutingStrategy(), new RoundRobinRoutingStrategy({ gatewaysProvider: countedProvider([a]) })],
    }),
  })
  assert.equal(await strategy.selectGateway({ path: '/', subdomain: 'ardrive' }), a)
})
