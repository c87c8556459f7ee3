/** The client: its default parts, both forms of its options, and what it does with each of them. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import * as waypost from 'waypost'
import { rejection } from '../support/client.mjs'
import { countedProvider, fakeGateways, forbidUnhandled, spyStrategy, urls } from '../support/fake-gateways.mjs'

forbidUnhandled(after)

const {
  createWayfinder,
  createWayfinderClient,
  PingRoutingStrategy,
  RandomRoutingStrategy,
  SimpleCacheGatewaysProvider,
  TrustedPeersGatewaysProvider,
  Wayfinder,
  WayfinderEmitter,
} = waypost

const EXPORTS = `
  CompositeGatewaysProvider CompositeRoutingStrategy FastestPingRoutingStrategy LocalStorageGatewaysProvider
  NetworkGatewaysProvider PingRoutingStrategy PreferredWithFallbackRoutingStrategy RandomRoutingStrategy
  RoundRobinRoutingStrategy SimpleCacheGatewaysProvider SimpleCacheRoutingStrategy StaticGatewaysProvider
  StaticRoutingStrategy TrustedPeersGatewaysProvider Wayfinder WayfinderEmitter createRoutingStrategy createWayfinder
  createWayfinderClient FastestRoutingStrategy LatencyWeightedRoutingStrategy LoadBalancedRoutingStrategy
  PriorityRoutingStrategy`.trim().split(/\s+/)

const PEERS = { body: JSON.stringify({ gateways: { 'a.test': { url: 'https://a.test' } } }) }
const ZERO_CONFIG = {
  'https://turbo-gateway.com/ar-io/peers': PEERS,
  'https://a.test/': 200,
  'https://ardrive.a.test/': { body: 'served' },
}
const [a, b] = urls('a', 'b')
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const chooser = { selectGateway: async () => a }
const gatewaysProvider = { getGateways: async () => [b] }
const verifier = { trustedGateways: [a], verifyData: async () => {} }
const retriever = { getData: async ({ requestUrl }) => fetch(requestUrl) }
const forms = { 'new Wayfinder': (options) => new Wayfinder(options), 'createWayfinderClient': createWayfinderClient }

/** The host that a name is routed to. */
const hostFor = async (wayfinder) => (await wayfinder.resolveUrl({ arnsName: 'ardrive' })).host

/** Callbacks and what they heard, in order. */
function recorder() {
  const heard = []
  const hear = (name) => (payload) => heard.push([name, payload])
  const events = { onRoutingStarted: hear('started'), onRoutingSkipped: hear('skipped'), onRoutingSucceeded: hear('succeeded') }
  return { heard, events: { ...events, onRoutingFailed: hear('failed') }, names: () => heard.map(([name]) => name) }
}

test('every name of the model that routes is exported', () => {
  for (const name of EXPORTS) assert.equal(typeof waypost[name], 'function', name)
  assert.equal(createWayfinder, createWayfinderClient)
})

test('new Wayfinder(): ping over random over the trusted peers, and the settings as documented', () => {
  const wayfinder = new Wayfinder()
  assert.ok(wayfinder.gatewaysProvider instanceof TrustedPeersGatewaysProvider)
  const { strategy, events } = wayfinder.routingSettings
  assert.deepEqual(events, {})
  assert.ok(strategy instanceof PingRoutingStrategy)
  assert.deepEqual([strategy.retries, strategy.timeoutMs], [5, 1_000])
  assert.ok(strategy.routingStrategy instanceof RandomRoutingStrategy)
  assert.equal(strategy.routingStrategy.gatewaysProvider, wayfinder.gatewaysProvider)
  const verification = { enabled: false, events: {}, strict: false, raw: false, strategy: undefined }
  assert.deepEqual(wayfinder.verificationSettings, verification)
  assert.equal(wayfinder.telemetrySettings.enabled, false)
  assert.ok(wayfinder.emitter instanceof WayfinderEmitter)
})

test('createWayfinderClient(): random over the trusted peers, kept for five minutes', () => {
  const { strategy } = createWayfinderClient().routingSettings
  assert.ok(strategy instanceof RandomRoutingStrategy)
  assert.ok(strategy.gatewaysProvider instanceof SimpleCacheGatewaysProvider)
  assert.equal(strategy.gatewaysProvider.ttlSeconds, 300)
  assert.ok(strategy.gatewaysProvider.gatewaysProvider instanceof TrustedPeersGatewaysProvider)
})

for (const [name, make] of Object.entries(forms)) {
  test(`${name} without options serves, and its methods need no object in front`, async (t) => {
    fakeGateways(t, ZERO_CONFIG)
    for (const options of [undefined, {}, { routingSettings: {} }, { routingSettings: { strategy: undefined } }]) {
      const { resolveUrl, request } = make(options)
      assert.equal((await resolveUrl({ wayfinderUrl: 'ar://ardrive/x' })).href, 'https://ardrive.a.test/x')
      const response = await request('ar://ardrive')
      assert.equal(await response.text(), 'served')
      assert.equal(response.gateway.href, 'https://a.test/')
    }
  })

  test(`${name}: callbacks without a strategy leave the default one in place`, async (t) => {
    fakeGateways(t, ZERO_CONFIG)
    const { heard, events, names } = recorder()
    await make({ routingSettings: { events } }).request('ar://ardrive/x')
    assert.deepEqual(names(), ['started', 'succeeded'])
    assert.equal(heard[0][1].originalUrl, 'ar://ardrive/x')
    const { originalUrl, selectedGateway, redirectUrl } = heard[1][1]
    assert.deepEqual([originalUrl, redirectUrl], ['ar://ardrive/x', 'https://ardrive.a.test/x'])
    assert.equal(new URL(selectedGateway).href, 'https://a.test/')
  })

  test(`${name}: gatewaysProvider is used where a strategy has none of its own`, async (t) => {
    fakeGateways(t, { 'https://': 200 })
    const settings = (strategy) => ({ gatewaysProvider, routingSettings: { strategy } })
    assert.equal(await hostFor(make({ gatewaysProvider })), 'ardrive.b.test')
    assert.equal(await hostFor(make({ gatewaysProvider, routingSettings: { events: {} } })), 'ardrive.b.test')
    assert.equal(await hostFor(make(settings(new RandomRoutingStrategy()))), 'ardrive.b.test')
    const own = new RandomRoutingStrategy({ gatewaysProvider: countedProvider([a]) })
    assert.equal(await hostFor(make(settings(own))), 'ardrive.a.test')
    const wrapped = new PingRoutingStrategy({ routingStrategy: own })
    assert.equal(await hostFor(make(settings(wrapped))), 'ardrive.a.test', 'the wrapper is not in the way')
    const open = new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy() })
    assert.equal(await hostFor(make(settings(open))), 'ardrive.b.test')
  })

  test(`${name}: any object that chooses is a strategy, and is asked with path and subdomain`, async (t) => {
    fakeGateways(t, { 'https://ardrive.a.test/': 200 })
    const strategy = spyStrategy(() => a)
    const wayfinder = make({ routingSettings: { strategy } })
    assert.equal(wayfinder.routingSettings.strategy, strategy)
    await wayfinder.resolveUrl({ arnsName: 'ardrive' })
    assert.deepEqual([strategy.seen[0].path, strategy.seen[0].subdomain], ['/', 'ardrive'])
    const response = await wayfinder.request('ar://ardrive/x')
    assert.equal(response.gateway, a)
    assert.deepEqual([strategy.seen[1].path, strategy.seen[1].subdomain], ['/x', 'ardrive'])
  })

  test(`${name}: another strategy set later takes effect on both methods`, async (t) => {
    fakeGateways(t, { 'https://': 200 })
    const wayfinder = make({ routingSettings: { strategy: chooser } })
    assert.equal(await hostFor(wayfinder), 'ardrive.a.test')
    const strategy = { selectGateway: async () => b }
    wayfinder.setRoutingStrategy(strategy)
    assert.equal(wayfinder.routingSettings.strategy, strategy)
    assert.equal(await hostFor(wayfinder), 'ardrive.b.test')
    assert.equal((await wayfinder.request('ar://ardrive')).gateway, b)
  })

  test(`${name}: the nested form takes every option of the model`, () => {
    const wayfinder = make({
      logger,
      fetch,
      gatewaysProvider,
      routingSettings: { strategy: chooser, events: recorder().events },
      verificationSettings: { enabled: true, strategy: verifier, strict: true, raw: true, events: { onVerificationFailed() {} } },
      telemetrySettings: {
        enabled: true, sampleRate: 1, apiKey: 'key', exporterUrl: 'https://c.test', clientName: 'n', clientVersion: '1',
      },
      dataRetrievalStrategy: retriever,
    })
    assert.equal(wayfinder.gatewaysProvider, gatewaysProvider)
    const { enabled, strategy, strict, raw } = wayfinder.verificationSettings
    assert.deepEqual([enabled, strict, raw], [true, true, true])
    assert.equal(strategy, verifier)
  })

  test(`${name}: verification that is asked for without a strategy is not available yet`, () => {
    assert.throws(() => make({ verificationSettings: { enabled: true } }), /not available yet/)
  })

  for (const [options, wrong, right] of [
    [{ gatewayProvider: gatewaysProvider }, 'gatewayProvider', 'gatewaysProvider'],
    [{ routingSetting: { strategy: chooser } }, 'routingSetting', 'routingSettings'],
    [{ routingSettings: { stratgy: chooser } }, 'stratgy', 'strategy'],
    [{ verificationSettings: { strickt: true } }, 'strickt', 'strict'],
  ]) {
    test(`${name}: ${wrong} is refused with the nearest known option`, () => {
      assert.throws(() => make(options), ({ message }) => {
        assert.ok(message.includes(wrong), message)
        assert.match(message, new RegExp(`["'\`]${right}["'\`]`))
        return true
      })
    })
  }
}

test('the flat form takes every option of the model, and keeps each', async (t) => {
  const world = fakeGateways(t, { 'https://': 200 })
  const emitter = new WayfinderEmitter()
  const { events, names } = recorder()
  const skipped = []
  emitter.on('routing-skipped', (payload) => skipped.push(payload))
  const wayfinder = createWayfinderClient({
    logger, fetch: (...input) => globalThis.fetch(...input), routingStrategy: chooser, verificationStrategy: verifier, strict: true,
    dataRetrievalStrategy: retriever, events, emitter, tracer: {}, telemetrySettings: { enabled: true }, gatewaysProvider,
  })
  assert.equal(wayfinder.routingSettings.strategy, chooser)
  const { enabled, strategy, strict } = wayfinder.verificationSettings
  assert.deepEqual([enabled, strict], [true, true])
  assert.equal(strategy, verifier)
  await wayfinder.request('https://c.test/plain')
  assert.deepEqual(world.requests(), ['GET https://c.test/plain'])
  assert.deepEqual(names(), ['skipped'])
  assert.equal(skipped.length, 1)
  assert.match(skipped[0].originalUrl, /https:\/\/c\.test\/plain/)
})

test('the flat form: a misspelt option is refused with the nearest known one', () => {
  assert.throws(() => createWayfinderClient({ routingStrategi: chooser }), /\broutingStrategi\b.*["'`]routingStrategy["'`]/)
})

test('the flat form: callbacks or a provider without a strategy', async (t) => {
  fakeGateways(t, { ...ZERO_CONFIG, 'https://ardrive.b.test/': 200 })
  const { events, names } = recorder()
  assert.equal(await hostFor(createWayfinderClient({ events })), 'ardrive.a.test')
  assert.equal(await hostFor(createWayfinderClient({ events, gatewaysProvider })), 'ardrive.b.test')
  const open = new RandomRoutingStrategy()
  assert.equal(await hostFor(createWayfinderClient({ gatewaysProvider, routingStrategy: open })), 'ardrive.b.test')
  assert.equal(await hostFor(createWayfinderClient({ routingStrategy: undefined, strict: false })), 'ardrive.a.test')
  assert.deepEqual(names(), [], 'resolving fires nothing')
  await createWayfinderClient({ events }).request('ar://ardrive')
  assert.deepEqual(names(), ['started', 'succeeded'])
})

test('mixed forms keep everything', async (t) => {
  fakeGateways(t, { 'https://': 200 })
  const flat = recorder()
  const nested = recorder()
  const wayfinder = createWayfinderClient({
    strict: true,
    events: flat.events,
    routingSettings: { strategy: chooser, events: { onRoutingStarted: nested.events.onRoutingStarted } },
  })
  assert.equal(wayfinder.routingSettings.strategy, chooser)
  assert.equal(wayfinder.verificationSettings.strict, true)
  await wayfinder.request('ar://ardrive')
  assert.ok(flat.names().includes('succeeded'), 'what only one form has')
  assert.deepEqual([...nested.names(), ...flat.names()].filter((name) => name === 'succeeded').length, 1)
  const other = createWayfinderClient({ routingStrategy: chooser, verificationSettings: { raw: true, strategy: verifier } })
  assert.equal(other.routingSettings.strategy, chooser)
  assert.deepEqual([other.verificationSettings.raw, other.verificationSettings.strategy], [true, verifier])
})

test('events: each once, on the emitter and for the callback, failure included', async (t) => {
  fakeGateways(t, {})
  const { events, heard, names } = recorder()
  const { emitter, request } = new Wayfinder({ routingSettings: { strategy: chooser, events } })
  const emitted = []
  for (const name of ['started', 'skipped', 'succeeded', 'failed']) {
    emitter.on(`routing-${name}`, (payload) => emitted.push([name, payload]))
  }
  const error = await rejection(request('ar://ardrive'))
  assert.equal(names().filter((name) => name === 'failed').length, 1)
  assert.equal(names().filter((name) => name === 'started').length, 1)
  assert.equal(heard.at(-1)[1], error)
  assert.deepEqual(emitted.map(([name]) => name), names())
})

test('an emitter by itself: callbacks of its options, and a parent that hears everything', () => {
  const { events, heard } = recorder()
  const parentEmitter = new WayfinderEmitter()
  const forwarded = []
  for (const name of ['routing-started', 'routing-failed']) parentEmitter.on(name, (payload) => forwarded.push(payload))
  const emitter = new WayfinderEmitter({ routing: events, parentEmitter })
  const started = { originalUrl: 'ar://ardrive' }
  const failed = new Error('no gateway')
  emitter.emit('routing-started', started)
  emitter.emit('routing-failed', failed)
  assert.deepEqual(heard, [['started', started], ['failed', failed]])
  assert.deepEqual(forwarded, [started, failed])
})

test('resolveUrl refuses what it cannot read, in the words of the model', async () => {
  const { resolveUrl } = new Wayfinder({ routingSettings: { strategy: chooser } })
  const onlyOne = 'Invalid URL params, only one of the following is allowed: originalUrl, wayfinderUrl, txId, arnsName'
  for (const params of [{}, { arnsName: 'ardrive', txId: 'x' }]) await assert.rejects(resolveUrl(params), { message: onlyOne })
  await assert.rejects(resolveUrl({ name: 'ardrive' }), { message: 'Invalid URL params' })
  await assert.rejects(resolveUrl({ originalUrl: 'https://arweave.net.evil.test/x' }), /Invalid URL/)
})
