/** Every class of the content half in one table: what it takes, what it fills in, what it refuses and in which words. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import * as waypost from 'waypost'
import { rejection } from '../support/client.mjs'
import { fakeGateways, forbidUnhandled } from '../support/fake-gateways.mjs'

forbidUnhandled(after)

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const gateway = 'https://a.test'
const [url, other] = [new URL(gateway), new URL('https://b.test')]
const chooser = { selectGateway: async () => url }
const gatewaysProvider = { getGateways: async () => [url] }
const ario = { getGateways: async () => ({ items: [] }) }
/** What pages of the model's documentation still show. */
const legacy = { pingPath: '/old', cacheResultsMs: 1_000 }
const exactly = (message) => ({ message })
const ranked = (name) => ({
  least: undefined,
  accepts: { gatewaysProvider, logger },
  fields: { name },
  misspelt: ['gatewayProvider', 'gatewaysProvider'],
})

/**
 * `least`: the options that must be there. `accepts`: every other option, ours and the model's. `fields`: what is public,
 * with its default. `numbers`: options that have wrong values, and which. `misspelt`: a wrong key and the one meant.
 */
const TABLE = {
  StaticRoutingStrategy: {
    least: { gateway },
    accepts: { logger },
    fields: { name: 'static' },
    refuses: [[{ gateway: 'no url' }, /Invalid URL/]],
    misspelt: ['gatway', 'gateway'],
  },
  RandomRoutingStrategy: {
    least: undefined,
    accepts: { gatewaysProvider, logger },
    fields: { name: 'random' },
    misspelt: ['gatewayProvider', 'gatewaysProvider'],
    calls: [[{}, [], exactly('No gateways available')]],
  },
  RoundRobinRoutingStrategy: {
    least: undefined,
    accepts: { gateways: [url], logger },
    fields: { name: 'round-robin' },
    refuses: [
      [{ gateways: [url], gatewaysProvider }, exactly('Cannot provide both gateways and gatewaysProvider')],
      [{ gateways: [], gatewaysProvider }, exactly('Cannot provide both gateways and gatewaysProvider')],
    ],
    misspelt: ['gateway', 'gateways'],
    calls: [[{ gateways: [] }, [], exactly('No gateways available')]],
  },
  FastestPingRoutingStrategy: {
    least: undefined,
    accepts: { timeoutMs: 20, maxConcurrency: 5, probePath: '/health', gatewaysProvider, logger, ...legacy },
    fields: { name: 'fastest-ping', timeoutMs: 500, maxConcurrency: 50, probePath: '/' },
    numbers: { timeoutMs: [0, -1, NaN], maxConcurrency: [0, -1, NaN, 1.5] },
    misspelt: ['maxConcurency', 'maxConcurrency'],
    calls: [
      [{}, [{}], exactly('No gateways provided')],
      [{}, [{ gateways: [url], path: '/p' }], exactly('All gateways failed to respond')],
    ],
  },
  PingRoutingStrategy: {
    least: { routingStrategy: chooser },
    accepts: { retries: 2, timeoutMs: 20, probePath: '/health', gatewaysProvider, logger },
    fields: { name: 'ping', retries: 5, timeoutMs: 1_000, probePath: '/', routingStrategy: chooser },
    numbers: { timeoutMs: [0, -1, NaN], retries: [0, NaN] },
    misspelt: ['retrys', 'retries'],
    calls: [
      [{}, [{ gateways: [] }], exactly('No gateways available')],
      [{}, [{ gateways: [url] }], exactly('Failed to find working gateway after HEAD checks')],
    ],
  },
  PreferredWithFallbackRoutingStrategy: {
    least: { preferredGateway: gateway },
    accepts: { fallbackStrategy: chooser, logger },
    fields: { name: 'preferred-with-fallback', preferredGateway: url },
    refuses: [[{ preferredGateway: 'no url' }, /Invalid URL/]],
    misspelt: ['fallbackStratgy', 'fallbackStrategy'],
    calls: [[{}, [{ path: '/' }], exactly('All routing strategies failed to select a gateway')]],
  },
  SimpleCacheRoutingStrategy: {
    least: { routingStrategy: chooser },
    accepts: { ttlSeconds: 0.1, logger },
    fields: { name: 'simple-cache', ttlSeconds: 300, routingStrategy: chooser },
    numbers: { ttlSeconds: [-1, NaN] },
    misspelt: ['ttlSecond', 'ttlSeconds'],
  },
  CompositeRoutingStrategy: {
    least: { strategies: [chooser] },
    accepts: { logger },
    fields: { name: 'composite', strategies: [chooser] },
    refuses: [
      [undefined, exactly('At least one routing strategy must be provided')],
      [{ strategies: [] }, exactly('At least one routing strategy must be provided')],
    ],
    misspelt: ['strategy', 'strategies'],
  },
  LoadBalancedRoutingStrategy: ranked('load-balanced'),
  FastestRoutingStrategy: ranked('fastest'),
  LatencyWeightedRoutingStrategy: ranked('latency-weighted'),
  PriorityRoutingStrategy: ranked('priority'),
  StaticGatewaysProvider: {
    least: { gateways: [gateway] },
    accepts: { logger },
    fields: { gateways: [url] },
    refuses: [[{ gateways: [gateway, 'no url'] }, /Invalid URL/]],
    misspelt: ['gateway', 'gateways'],
  },
  TrustedPeersGatewaysProvider: {
    least: { trustedGateway: gateway },
    accepts: { timeoutMs: 10_000, logger },
    fields: { timeoutMs: 10_000 },
    numbers: { timeoutMs: [0, -1, NaN] },
    misspelt: ['trustedGatway', 'trustedGateway'],
  },
  NetworkGatewaysProvider: {
    least: { ario },
    accepts: { sortBy: 'startTimestamp', sortOrder: 'asc', limit: 10, filter: () => true, blocklist: ['c.test'], logger },
    fields: { sortBy: 'operatorStake', sortOrder: 'desc', limit: 1_000 },
    misspelt: ['sortOder', 'sortOrder'],
  },
  SimpleCacheGatewaysProvider: {
    least: { gatewaysProvider },
    accepts: { ttlSeconds: 0.1, logger },
    fields: { ttlSeconds: 3_600, gatewaysProvider },
    numbers: { ttlSeconds: [-1, NaN] },
    misspelt: ['ttlSecond', 'ttlSeconds'],
  },
  LocalStorageGatewaysProvider: {
    least: { gatewaysProvider },
    accepts: { ttlSeconds: 0.1, cacheKey: 'mine', logger },
    fields: { ttlSeconds: 3_600, cacheKey: 'gateways' },
    numbers: { ttlSeconds: [-1, NaN] },
    misspelt: ['cachekey', 'cacheKey'],
    page: true,
  },
  CompositeGatewaysProvider: {
    least: { providers: [gatewaysProvider] },
    accepts: { logger },
    fields: {},
    refuses: [
      [undefined, exactly('At least one gateways provider must be provided')],
      [{ providers: [] }, exactly('At least one gateways provider must be provided')],
    ],
    misspelt: ['provider', 'providers'],
  },
}

/** What `LocalStorageGatewaysProvider` takes for a page. */
function openPage(t) {
  const items = new Map()
  const localStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, String(value)),
    removeItem: (key) => items.delete(key),
  }
  Object.assign(globalThis, { window: { localStorage, document: {} }, localStorage })
  t.after(() => ['window', 'localStorage'].forEach((name) => delete globalThis[name]))
}

for (const [className, row] of Object.entries(TABLE)) {
  const make = (options) => new waypost[className](options === undefined ? undefined : { ...row.least, ...options })

  test(`${className}: what it fills in, and what it takes`, (t) => {
    if (row.page) openPage(t)
    const object = row.least === undefined ? new waypost[className]() : new waypost[className](row.least)
    for (const [field, value] of Object.entries(row.fields)) {
      assert.deepEqual(object[field], value, field)
      if (typeof value === 'object' && !Array.isArray(value) && !(value instanceof URL)) assert.equal(object[field], value, field)
    }
    const full = make(row.accepts)
    for (const [field, value] of Object.entries(row.accepts)) {
      if (field in row.fields) assert.equal(full[field], value, field)
    }
    make(Object.fromEntries(Object.keys(row.accepts).map((key) => [key, undefined])))
  })

  for (const [option, values] of Object.entries(row.numbers ?? {})) {
    for (const value of values) {
      test(`${className}: ${option} ${value} is refused with its name and value`, (t) => {
        if (row.page) openPage(t)
        assert.throws(() => make({ [option]: value }), (error) => {
          assert.ok(error instanceof RangeError, String(error))
          assert.match(error.message, new RegExp(`${option}.*${String(value).replace('.', '\\.')}`))
          return true
        })
      })
    }
  }

  test(`${className}: an unknown option is refused with the nearest known one`, (t) => {
    if (row.page) openPage(t)
    const [wrong, right] = row.misspelt
    assert.throws(() => make({ [wrong]: 1 }), ({ message }) => {
      assert.match(message, new RegExp(`\\b${wrong}\\b.*["'\`]${right}["'\`]`))
      return true
    })
  })

  for (const [options, error] of row.refuses ?? []) {
    test(`${className}: refuses ${JSON.stringify(options)}`, () => {
      assert.throws(() => make(options), error)
    })
  }

  for (const [options, params, error] of row.calls ?? []) {
    test(`${className}: a call ends with "${error.message}"`, async (t) => {
      fakeGateways(t, {})
      await assert.rejects(make(options).selectGateway(...params), error)
    })
  }
}

test('causes say what was asked', async (t) => {
  fakeGateways(t, {})
  const asked = { gateways: [url.href], path: '/p', subdomain: 's' }
  const params = { ...asked, gateways: [url] }
  const causeOf = async (strategy) => {
    const { cause } = await rejection(strategy.selectGateway(params))
    // As texts in the model, as objects here: both are fine.
    return { ...cause, gateways: cause.gateways.map(String) }
  }
  const fastest = await causeOf(new waypost.FastestPingRoutingStrategy())
  assert.deepEqual(fastest, { ...fastest, ...asked })
  const ping = await causeOf(new waypost.PingRoutingStrategy({ routingStrategy: chooser, retries: 2 }))
  assert.deepEqual(ping, { ...ping, ...asked, retries: 2 })
})

test('preferred with fallback shows its parts: ping over static, then the fallback', () => {
  const fallbackStrategy = { name: 'custom-fallback', ...chooser }
  const own = new waypost.PreferredWithFallbackRoutingStrategy({ preferredGateway: gateway, fallbackStrategy })
  assert.equal(own.preferredGateway.toString(), 'https://a.test/')
  assert.equal(own.fallbackStrategy, fallbackStrategy)
  const [ping, second] = own.compositeStrategy.getStrategies()
  assert.deepEqual([ping.name, second.name], ['ping', 'custom-fallback'])
  assert.deepEqual([ping.retries, ping.timeoutMs, ping.routingStrategy.name], [1, 1_000, 'static'])
  const byDefault = new waypost.PreferredWithFallbackRoutingStrategy({ preferredGateway: gateway })
  assert.ok(byDefault.fallbackStrategy instanceof waypost.FastestPingRoutingStrategy)
  assert.equal(byDefault.fallbackStrategy.timeoutMs, 500)
})

test('the browser cache says in Node what to use instead', () => {
  assert.throws(
    () => new waypost.LocalStorageGatewaysProvider({ gatewaysProvider }),
    exactly(
      'LocalStorageGatewaysProvider is only available in browser environments. Consider using SimpleCacheGatewaysProvider ' +
        'for node.js environments.',
    ),
  )
})

test('composite gateways: one that fails, one that is empty, and the text when there is no other', async () => {
  const broken = { getGateways: async () => Promise.reject(new Error('down')) }
  const empty = new waypost.StaticGatewaysProvider({ gateways: [] })
  const strategy = new waypost.CompositeGatewaysProvider({ providers: [broken, empty] })
  await assert.rejects(strategy.getGateways(), exactly('All gateways providers failed to return gateways'))
  strategy.addProvider(gatewaysProvider)
  assert.deepEqual(await strategy.getGateways(), [url])
  const shown = strategy.getProviders()
  shown.pop()
  assert.equal(strategy.getProviders().length, 3)
})

const KEYWORDS = {
  random: 'RandomRoutingStrategy',
  fastest: 'FastestPingRoutingStrategy',
  balanced: 'RoundRobinRoutingStrategy',
  preferred: 'PreferredWithFallbackRoutingStrategy',
}

for (const [keyword, className] of Object.entries(KEYWORDS)) {
  test(`createRoutingStrategy: ${keyword}, with and without provider and logger`, async (t) => {
    fakeGateways(t, { 'https://a.test': 200 })
    assert.ok(waypost.createRoutingStrategy({ strategy: keyword }) instanceof waypost[className])
    const strategy = waypost.createRoutingStrategy({ strategy: keyword, gatewaysProvider, logger })
    assert.ok(strategy instanceof waypost[className])
    assert.equal(await strategy.selectGateway({ path: '/' }), url)
  })
}

test('createRoutingStrategy: the preferred gateway and its fallback; an unknown word gives nothing', () => {
  const { preferredGateway, fallbackStrategy } = waypost.createRoutingStrategy({ strategy: 'preferred' })
  assert.equal(preferredGateway.href, 'https://turbo-gateway.com/')
  assert.ok(fallbackStrategy instanceof waypost.FastestPingRoutingStrategy)
  assert.equal(waypost.createRoutingStrategy({ strategy: 'quickest' }), undefined)
})

test('the list of the caller is not changed by any strategy', async (t) => {
  fakeGateways(t, { 'https://b.test': 200 })
  const gateways = Object.freeze([url, other])
  for (const strategy of [
    new waypost.RandomRoutingStrategy(),
    new waypost.FastestPingRoutingStrategy(),
    new waypost.PingRoutingStrategy({ routingStrategy: new waypost.RandomRoutingStrategy() }),
    new waypost.FastestRoutingStrategy({}),
    new waypost.PriorityRoutingStrategy({}),
  ]) {
    assert.ok(gateways.includes(await strategy.selectGateway({ gateways, exclude: Object.freeze([]) })))
  }
})
