/** Events of requests: which, how often, to whom; and the strategies and providers of users that misbehave. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import {
  CompositeRoutingStrategy, createWayfinderClient, FastestPingRoutingStrategy, PingRoutingStrategy, PriorityRoutingStrategy,
  RandomRoutingStrategy, RoundRobinRoutingStrategy, SimpleCacheRoutingStrategy, StaticRoutingStrategy, Wayfinder, WayfinderEmitter,
  WaypostError,
} from 'waypost'
import { rejection } from '../support/client.mjs'
import { forbidUnhandled, spyStrategy } from '../support/fake-gateways.mjs'
import { IDS, startGateway, startGateways } from '../support/gateway.mjs'

forbidUnhandled(after)

const TEXT = `ar://${IDS.text}`
const TEXT_BODY = 'hello permaweb\n'
const NAMES = ['routing-started', 'routing-skipped', 'routing-succeeded', 'routing-failed']

const listOf = (urls) => ({ getGateways: async () => urls })
const urlsOf = (gateways) => gateways.map(({ url }) => new URL(url))
const ordered = (gateways) => new PriorityRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) })

/** Callbacks, and what they heard. */
function recorder() {
  const heard = []
  const events = Object.fromEntries(
    NAMES.map((name) => [`onRouting${name[8].toUpperCase()}${name.slice(9)}`, (payload) => heard.push([name, payload])]),
  )
  return { heard, events, names: () => heard.map(([name]) => name) }
}

/** Everything an emitter emits. */
function listenTo(emitter) {
  const heard = []
  for (const name of NAMES) emitter.on(name, (payload) => heard.push([name, payload]))
  return heard
}

/** A client with a listener in every place where there can be one. */
function overheard(strategy, options = {}) {
  const emitter = new WayfinderEmitter()
  const own = recorder()
  const single = recorder()
  const wayfinder = createWayfinderClient({ routingStrategy: strategy, events: own.events, emitter, ...options })
  const places = { constructor: own.heard, request: single.heard, client: listenTo(wayfinder.emitter), forwarded: listenTo(emitter) }
  const request = (input, init) => wayfinder.request(input, { ...init, routingSettings: { events: single.events } })
  return { request, places }
}

/** Every place heard exactly these events. */
function assertHeard(places, expected) {
  for (const [place, heard] of Object.entries(places)) assert.deepEqual(heard.map(([name]) => name), expected, place)
}

test('one start and one success, in every place, however many gateways failed before', async (t) => {
  const gateways = await startGateways(t, 3)
  gateways[0].fault('reset')
  gateways[1].fault('status', { status: 503 })
  const { request, places } = overheard(ordered(gateways))
  await (await request(TEXT)).text()
  assertHeard(places, ['routing-started', 'routing-succeeded'])
  for (const heard of Object.values(places)) {
    assert.deepEqual(heard[0][1], { originalUrl: TEXT })
    const { originalUrl, selectedGateway, redirectUrl } = heard[1][1]
    assert.equal(originalUrl, TEXT)
    assert.equal(new URL(selectedGateway).host, gateways[2].host)
    assert.equal(redirectUrl, `${gateways[2].url}/${IDS.text}`)
  }
})

test('an address that is not ar:// is skipped, and its text is that of the caller', async (t) => {
  const gateway = await startGateway(t)
  const { request, places } = overheard(ordered([gateway]))
  for (const input of [`${gateway.url}/`, new URL(gateway.url), new Request(`${gateway.url}/`)]) await (await request(input)).text()
  assertHeard(places, ['routing-skipped', 'routing-skipped', 'routing-skipped'])
  for (const heard of Object.values(places)) {
    for (const [, { originalUrl }] of heard) assert.equal(originalUrl, `${gateway.url}/`)
  }
})

test('a failure is heard once, in every place, and is the error that the caller gets', async (t) => {
  const gateways = await startGateways(t, 2)
  for (const gateway of gateways) gateway.fault('reset')
  const { request, places } = overheard(ordered(gateways))
  const error = await rejection(request(TEXT))
  assertHeard(places, ['routing-started', 'routing-failed'])
  for (const heard of Object.values(places)) assert.equal(heard[1][1], error)
})

test('an abort and an address that cannot be read are failures too', async (t) => {
  const gateway = await startGateway(t)
  const { request, places } = overheard(ordered([gateway]))
  const error = await rejection(request(TEXT, { signal: AbortSignal.abort() }))
  assertHeard(places, ['routing-started', 'routing-failed'])
  assert.equal(places.client[1][1], error)
})

test('a 404 and a last 5xx are answers: success, once', async (t) => {
  for (const status of [404, 503]) {
    const gateway = await startGateway(t)
    gateway.fault('status', { status })
    const { request, places } = overheard(ordered([gateway]))
    await (await request(TEXT)).text()
    assertHeard(places, ['routing-started', 'routing-succeeded'])
  }
})

test('callbacks of one request hear nothing of another', async (t) => {
  const gateway = await startGateway(t)
  const { request } = new Wayfinder({ routingSettings: { strategy: ordered([gateway]) } })
  const [one, two] = [recorder(), recorder()]
  await Promise.all([one, two].map(({ events }, at) => request(`${TEXT}?n=${at}`, { routingSettings: { events } })))
  for (const [at, { heard }] of [one, two].entries()) {
    assert.deepEqual(heard.map(([, { originalUrl }]) => originalUrl), Array(2).fill(`${TEXT}?n=${at}`))
  }
})

test('a listener that throws breaks neither the request nor the other listeners', async (t) => {
  const gateway = await startGateway(t)
  const reported = []
  // Node has no `reportError`, and its console is not for tests.
  t.mock.method(console, 'error', (error) => reported.push(error))
  const broken = () => { throw new Error('from a listener') }
  const events = { onRoutingStarted: broken, onRoutingSucceeded: broken }
  const wayfinder = createWayfinderClient({ routingStrategy: ordered([gateway]), events, emitter: { emit: () => true } })
  wayfinder.emitter.on('routing-started', broken)
  const heard = listenTo(wayfinder.emitter)
  const response = await wayfinder.request(TEXT, { routingSettings: { events: { onRoutingSucceeded: broken } } })
  assert.equal(await response.text(), TEXT_BODY)
  assert.deepEqual(heard.map(([name]) => name), ['routing-started', 'routing-succeeded'])
  assert.ok(reported.length > 0, 'the error is not swallowed')
})

test('a foreign emitter that throws does not break the request either', async (t) => {
  const gateway = await startGateway(t)
  t.mock.method(console, 'error', () => {})
  const emitter = { emit() { throw new Error('from an emitter') } }
  const { request } = createWayfinderClient({ routingStrategy: ordered([gateway]), emitter })
  assert.equal(await (await request(TEXT)).text(), TEXT_BODY)
})

test('listeners that are added once, or removed, hear no more than that', async (t) => {
  const gateway = await startGateway(t)
  const { emitter, request } = new Wayfinder({ routingSettings: { strategy: ordered([gateway]) } })
  let once = 0
  let never = 0
  const removed = () => void (never += 1)
  emitter.once('routing-started', () => void (once += 1)).on('routing-started', removed).off('routing-started', removed)
  for (let count = 0; count < 3; count += 1) await (await request(TEXT)).text()
  assert.deepEqual([once, never], [1, 0])
})

/** What a user's strategy may do wrong, after it has chosen well `good` times. */
const MISTAKES = {
  'throws': () => { throw new Error('out of ideas') },
  'rejects with no error': () => Promise.reject('a string'),
  'chooses nothing': () => undefined,
  'chooses null': () => null,
  'chooses a number': () => 7,
  'chooses text that is no URL': () => 'gateway',
  'chooses an object': () => ({ host: 'a.test' }),
  'chooses a list': () => [new URL('http://a.test')],
}

for (const [name, choose] of Object.entries(MISTAKES)) {
  test(`a strategy that ${name}: the request fails with an error, and says so`, async () => {
    const { events, names } = recorder()
    const wayfinder = new Wayfinder({ routingSettings: { strategy: { selectGateway: choose }, events } })
    await assert.rejects(wayfinder.request(TEXT))
    await assert.rejects(wayfinder.resolveUrl({ txId: IDS.text }))
    assert.deepEqual(names(), ['routing-started', 'routing-failed'])
  })

  test(`a strategy that ${name} after a failure: the failure is what the caller gets`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('status', { status: 503, body: 'busy' })
    const strategy = spyStrategy((_, call) => (call === 1 ? new URL(gateway.url) : choose()))
    const response = await new Wayfinder({ routingSettings: { strategy } }).request(TEXT)
    assert.deepEqual([response.status, await response.text()], [503, 'busy'])
    assert.equal(gateway.counters.total, 1)
  })
}

test('the error of a strategy is passed on as it is, in the client as in a cache or a ping around it', async () => {
  const error = new Error('out of ideas')
  const strategy = { selectGateway: async () => { throw error } }
  for (const each of [strategy, new SimpleCacheRoutingStrategy({ routingStrategy: strategy })]) {
    assert.equal(await rejection(new Wayfinder({ routingSettings: { strategy: each } }).request(TEXT)), error)
  }
})

test('a strategy that chooses a string is understood', async (t) => {
  const gateway = await startGateway(t)
  const response = await new Wayfinder({ routingSettings: { strategy: { selectGateway: async () => gateway.url } } }).request(TEXT)
  assert.deepEqual([response.gateway.host, await response.text()], [gateway.host, TEXT_BODY])
})

test('a strategy that is not async is understood', async (t) => {
  const gateway = await startGateway(t)
  const strategy = { selectGateway: () => new URL(gateway.url) }
  assert.equal(await (await new Wayfinder({ routingSettings: { strategy } }).request(TEXT)).text(), TEXT_BODY)
  const failing = { selectGateway: () => { throw new Error('at once') } }
  assert.equal((await rejection(new Wayfinder({ routingSettings: { strategy: failing } }).request(TEXT))).message, 'at once')
})

test('a strategy that insists on the gateway that has failed: that is asked once, and the request ends', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('reset')
  const strategy = spyStrategy(() => new URL(gateway.url))
  const error = await rejection(new Wayfinder({ routingSettings: { strategy } }).request(TEXT))
  assert.ok(error instanceof WaypostError)
  assert.equal(gateway.counters.total, 1)
  assert.ok(strategy.seen.length <= 10, `${strategy.seen.length} choices`)
})

test('a strategy is told whom not to choose, with the objects that it chose', async (t) => {
  const gateways = await startGateways(t, 3)
  gateways[0].fault('reset')
  gateways[1].fault('status', { status: 500 })
  const urls = urlsOf(gateways)
  const strategy = spyStrategy((_, call) => urls[call - 1])
  const response = await new Wayfinder({ routingSettings: { strategy } }).request(TEXT)
  assert.equal(response.gateway, urls[2])
  const excluded = strategy.seen.map(({ exclude = [] }) => exclude)
  assert.deepEqual(excluded.map(({ length }) => length), [0, 1, 2])
  excluded[2].forEach((url, at) => assert.equal(url, urls[at]))
})

test('a strategy that never settles: the deadline ends the request', { timeout: 4_000 }, async () => {
  const strategy = { selectGateway: () => new Promise(() => {}) }
  await rejection(new Wayfinder({ routingSettings: { strategy }, deadlineMs: 300 }).request(TEXT))
})

test('a strategy that never settles again after a failure: the failure is what the caller gets', { timeout: 4_000 }, async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('status', { status: 503 })
  const strategy = { selectGateway: ({ exclude = [] }) => (exclude.length === 0 ? new URL(gateway.url) : new Promise(() => {})) }
  const response = await new Wayfinder({ routingSettings: { strategy }, deadlineMs: 300 }).request(TEXT)
  assert.equal(response.status, 503)
})

const PROVIDERS = {
  'rejects': { getGateways: async () => { throw new Error('no list') } },
  'throws': { getGateways() { throw new Error('no list') } },
  'returns nothing': { getGateways: async () => undefined },
  'returns null': { getGateways: async () => null },
  'returns an empty list': listOf([]),
  'returns an object': listOf({}),
  'returns text': listOf('http://a.test'),
}

for (const [name, gatewaysProvider] of Object.entries(PROVIDERS)) {
  test(`a provider that ${name}: every strategy ends with an error, or uses the next one of a composite`, async (t) => {
    const gateway = await startGateway(t)
    const good = new StaticRoutingStrategy({ gateway: gateway.url })
    for (const strategy of [
      new RandomRoutingStrategy({ gatewaysProvider }),
      new RoundRobinRoutingStrategy({ gatewaysProvider }),
      new FastestPingRoutingStrategy({ gatewaysProvider }),
      new PriorityRoutingStrategy({ gatewaysProvider }),
      new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider }) }),
    ]) {
      const error = await rejection(new Wayfinder({ routingSettings: { strategy } }).request(TEXT))
      assert.match(error.message, /No gateways|no list|Failed to find/, `${strategy.name}: ${error.stack}`)
      const composite = new CompositeRoutingStrategy({ strategies: [strategy, good] })
      const response = await new Wayfinder({ routingSettings: { strategy: composite } }).request(TEXT)
      assert.equal(await response.text(), TEXT_BODY, strategy.name)
    }
  })
}

const LIST_STRATEGIES = [RandomRoutingStrategy, FastestPingRoutingStrategy, PriorityRoutingStrategy, RoundRobinRoutingStrategy]

test('a gateway that stands in the list several times, as several objects, is asked once', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('reset')
  const [bad, good] = urlsOf(gateways)
  const list = [bad, new URL(bad), bad, good, new URL(good)]
  for (const Strategy of LIST_STRATEGIES) {
    const strategy = new Strategy({ gatewaysProvider: listOf(list) })
    for (const { counters } of gateways) counters.reset()
    const response = await new Wayfinder({ routingSettings: { strategy } }).request(TEXT)
    assert.equal(await response.text(), TEXT_BODY)
    assert.ok(gateways[0].counters.of('GET') <= 1, strategy.name)
    assert.equal(gateways[1].counters.of('GET'), 1, strategy.name)
  }
})

for (const entry of [undefined, null, 7, 'gateway', {}]) {
  test(`an entry of a list that is no URL (${JSON.stringify(entry)}) does not cost the others`, async (t) => {
    const gateway = await startGateway(t)
    for (const Strategy of LIST_STRATEGIES) {
      const strategy = new Strategy({ gatewaysProvider: listOf([entry, new URL(gateway.url)]) })
      const { request } = new Wayfinder({ routingSettings: { strategy } })
      for (let count = 0; count < 4; count += 1) {
        const response = await request(TEXT).catch((error) => assert.fail(`${strategy.name}: ${error.message}`))
        assert.equal(await response.text(), TEXT_BODY, strategy.name)
      }
    }
  })
}
