import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import {
  CompositeGatewaysProvider,
  LocalStorageGatewaysProvider,
  NetworkGatewaysProvider,
  SimpleCacheGatewaysProvider,
  StaticGatewaysProvider,
  TrustedPeersGatewaysProvider,
} from 'waypost'

const A = new URL('https://a.example')
const B = new URL('https://b.example')
const hrefs = (urls) => urls.map(String)

/** A provider that gives its lists in turn, then the last one again; an Error is thrown instead. */
const gives = (...lists) => ({
  calls: 0,
  async getGateways() {
    this.calls += 1
    const list = lists[Math.min(this.calls, lists.length) - 1]
    if (list instanceof Error) throw list
    return list
  },
})
const fails = (text = 'down') => gives(new Error(text))

/** A gateway that answers `/ar-io/peers` as it is told. */
async function servePeers(t, answer) {
  const requests = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { options: { trustedGateway: `http://127.0.0.1:${server.address().port}` }, requests }
}

const peers = (t, gateways) => servePeers(t, (response) => response.end(JSON.stringify({ gateways })))

test('Static: parses strings at once and gives the very URL objects that came in', async () => {
  const provider = new StaticGatewaysProvider({ gateways: [A, 'https://b.example'] })
  const list = await provider.getGateways()
  assert.equal(list[0], A)
  assert.deepEqual(hrefs(list), ['https://a.example/', 'https://b.example/'])
  assert.equal((await provider.getGateways())[1], list[1])
  assert.throws(() => new StaticGatewaysProvider({ gateways: ['nonsense'] }), /Invalid URL/)
  assert.throws(() => new StaticGatewaysProvider({ gateways: 'https://a.example' }), /gateways must be an array of URLs/)
})

test('TrustedPeers: asks the origin, skips what is no HTTP URL, has each origin once', async (t) => {
  const { options, requests } = await peers(t, {
    a: { url: 'https://a.example' },
    again: { url: 'https://A.example:443/path' },
    script: { url: 'javascript:alert(1)' },
    file: { url: 'file:///etc/hosts' },
    secret: { url: 'https://me:word@c.example' },
    bad: { url: 'not a url' },
    none: null,
    number: { url: 7 },
    b: { url: 'http://b.example:3000' },
  })
  const provider = new TrustedPeersGatewaysProvider({ trustedGateway: `${options.trustedGateway}/some/path?x` })
  const list = await provider.getGateways()
  assert.deepEqual(hrefs(list), ['https://a.example/', 'http://b.example:3000/'])
  assert.ok(list[0] instanceof URL)
  assert.deepEqual(requests, ['GET /ar-io/peers'])
})

test('TrustedPeers: an empty map is an empty list, a huge one is cut', async (t) => {
  const empty = await peers(t, {})
  assert.deepEqual(await new TrustedPeersGatewaysProvider(empty.options).getGateways(), [])
  const huge = await peers(t, Array.from({ length: 5_001 }, (_, index) => ({ url: `https://g${index}.example` })))
  assert.equal((await new TrustedPeersGatewaysProvider(huge.options).getGateways()).length, 5_000)
})

test('TrustedPeers: says what the gateway answered instead', async (t) => {
  const ask = async (answer) => new TrustedPeersGatewaysProvider((await servePeers(t, answer)).options).getGateways()
  await assert.rejects(
    ask((response) => response.writeHead(503).end('maintenance')),
    { message: 'Failed to fetch trusted peer list: 503 Service Unavailable maintenance' },
  )
  const missing = { message: 'Invalid trusted peer list format: missing "gateways" object' }
  await assert.rejects(ask((response) => response.end('{}')), missing)
  await assert.rejects(ask((response) => response.end('null')), missing)
  await assert.rejects(ask((response) => response.end('{"gateways":null}')), missing)
  await assert.rejects(ask((response) => response.end('{"gateways":"x"}')), missing)
  await assert.rejects(ask((response) => response.end('<html>')), /^Error: Failed to fetch trusted peer list: .*JSON/)
  await assert.rejects(ask((response) => response.destroy()), /^Error: Failed to fetch trusted peer list: fetch failed/)
  await assert.rejects(
    ask((response) => response.writeHead(500).end('x'.repeat(100_000))),
    ({ message }) => message.length < 1_000,
  )
})

test('TrustedPeers: the time limit covers headers and body', async (t) => {
  for (const answer of [() => {}, (response) => response.write('{"gateways":')]) {
    const { options } = await servePeers(t, answer)
    await assert.rejects(new TrustedPeersGatewaysProvider({ ...options, timeoutMs: 60 }).getGateways(), {
      message: 'Failed to fetch trusted peer list: There was no answer within 60 ms.',
    })
  }
})

test('TrustedPeers: a time limit longer than timers can be is not a short one', async (t) => {
  const { options } = await peers(t, { a: { url: A.href } })
  const provider = new TrustedPeersGatewaysProvider({ ...options, timeoutMs: Number.MAX_VALUE })
  assert.deepEqual(hrefs(await provider.getGateways()), [A.href])
})

test('TrustedPeers: calls the global fetch of the moment, or the one given, unbound', async (t) => {
  const seen = []
  function fake(url, init) {
    seen.push([this, url, init.method, init.signal instanceof AbortSignal])
    return Promise.resolve(Response.json({ gateways: { a: { url: A.href } } }))
  }
  const late = new TrustedPeersGatewaysProvider({ trustedGateway: 'https://peers.example' })
  t.mock.method(globalThis, 'fetch', fake)
  const given = new TrustedPeersGatewaysProvider({ trustedGateway: new URL('https://peers.example'), fetch: fake })
  for (const provider of [late, given]) assert.deepEqual(hrefs(await provider.getGateways()), [A.href])
  const call = [undefined, 'https://peers.example/ar-io/peers', 'GET', true]
  assert.deepEqual(seen, [call, call])
})

/** A registry that gives its pages in turn; an Error is thrown instead. */
function registry(...pages) {
  const asked = []
  const getGateways = async (page) => {
    const answer = pages[asked.push(page) - 1] ?? pages.at(-1)
    if (answer instanceof Error) throw answer
    return answer
  }
  return { asked, getGateways }
}

const entry = (host, more = {}) => ({
  status: 'joined',
  settings: { protocol: 'https', fqdn: `${host}.example`, port: 443 },
  ...more,
})
const hosts = (urls) => urls.map(({ hostname }) => hostname.split('.')[0]).join(' ')
const network = (ario, options = {}) => new NetworkGatewaysProvider({ ario, ...options }).getGateways()

test('Network: reads all pages and asks for them as Wayfinder does', async () => {
  const ario = registry(
    { items: [entry('a')], nextCursor: 'two', hasMore: true },
    { items: [entry('b')], nextCursor: 'three', hasMore: false },
  )
  assert.equal(hosts(await network(ario)), 'a b')
  const page = { limit: 1_000, sortBy: 'operatorStake', sortOrder: 'desc' }
  assert.deepEqual(ario.asked, [{ ...page, cursor: undefined }, { ...page, cursor: 'two' }])
})

test('Network: sorts before the limit, whatever kind of number it is', async () => {
  const items = [
    entry('none'),
    entry('text', { operatorStake: '900', weights: { stakeWeight: 2 } }),
    entry('big', { operatorStake: 1_000n, weights: { stakeWeight: 0.5 } }),
    entry('left', { operatorStake: 9_999, status: 'leaving' }),
    entry('number', { operatorStake: 800, weights: { stakeWeight: 1 } }),
    entry('token', { operatorStake: { toString: () => '850' }, weights: { stakeWeight: 3 } }),
  ]
  const ario = registry({ items })
  assert.equal(hosts(await network(ario)), 'big text token number none')
  assert.equal(hosts(await network(ario, { sortOrder: 'asc' })), 'number token text big none')
  assert.equal(hosts(await network(ario, { sortBy: 'weights.stakeWeight', limit: 2 })), 'token text')
  const paged = registry({ items: items.slice(0, 2), nextCursor: 'x' }, { items: items.slice(2) })
  assert.equal(hosts(await network(paged, { limit: 1 })), 'big')
})

test('Network: takes the gateways that the filter wants', async () => {
  const ario = registry({ items: [entry('a', { status: 'leaving' }), entry('b')] })
  assert.equal(hosts(await network(ario, { filter: ({ status }) => status === 'leaving' })), 'a')
})

test('Network: leaves out what is no base URL, without default ports, each origin once', async () => {
  const settings = (protocol, fqdn, port) => ({ status: 'joined', settings: { protocol, fqdn, port } })
  const items = [
    settings('https', 'bad host', 443),
    settings('https', 'a.example/path', 443),
    settings('https', 'evil@b.example', 443),
    settings('ftp', 'c.example', 21),
    settings('https', 'd.example', 99_999),
    { status: 'joined' },
    null,
    settings('https', 'e.example', 443),
    settings('http', 'e.example', 3000),
    settings('https', 'E.example', 443),
    settings('http', 'f.example', 80),
  ]
  const list = await network(registry({ items }), { limit: 3 })
  assert.deepEqual(hrefs(list), ['https://e.example/', 'http://e.example:3000/', 'http://f.example/'])
})

test('Network: a page is tried three times; the first to fail is an error, later ones leave a partial list', async () => {
  const down = new Error('down')
  const shaky = registry(down, down, { items: [entry('a')], nextCursor: 'x' }, down, down, { items: [entry('b')] })
  assert.equal(hosts(await network(shaky)), 'a b')
  const dead = registry(down)
  await assert.rejects(network(dead), down)
  assert.equal(dead.asked.length, 3)
  const dying = registry({ items: [entry('a')], nextCursor: 'x' }, down)
  assert.equal(hosts(await network(dying)), 'a')
  assert.deepEqual(dying.asked.map(({ cursor }) => cursor), [undefined, 'x', 'x', 'x'])
})

test('Network: does not page in a circle or without end', async () => {
  const circle = registry(
    { items: [entry('a')], nextCursor: 'x' },
    { items: [entry('b')], nextCursor: 'y' },
    { items: [], nextCursor: 'x' },
  )
  assert.equal(hosts(await network(circle)), 'a b')
  assert.equal(circle.asked.length, 3)
  let calls = 0
  assert.deepEqual(await network({ getGateways: async () => ({ items: [], nextCursor: `${(calls += 1)}` }) }), [])
  assert.equal(calls, 100)
})

test('SimpleCache: keeps the list, shares a load, forgets on clearCache()', async () => {
  const inner = gives([A], [B])
  const cache = new SimpleCacheGatewaysProvider({ gatewaysProvider: inner })
  const lists = await Promise.all([cache.getGateways(), cache.getGateways(), cache.getGateways()])
  for (const list of lists) assert.equal(list[0], A)
  assert.equal(inner.calls, 1)
  cache.clearCache()
  assert.deepEqual(await cache.getGateways(), [B])
})

test('SimpleCache: leader and followers have [] when there is nothing, and the next call tries again', async () => {
  for (const nothing of [fails(), gives([]), gives(undefined), gives('text')]) {
    const cache = new SimpleCacheGatewaysProvider({ gatewaysProvider: nothing })
    assert.deepEqual(await Promise.all([cache.getGateways(), cache.getGateways()]), [[], []])
    assert.equal(nothing.calls, 1)
    await cache.getGateways()
    assert.equal(nothing.calls, 2)
  }
})

test('SimpleCache: neither an error nor an empty list replaces a good one', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const warnings = []
  const logger = { debug() {}, info() {}, warn: (...words) => warnings.push(words), error() {} }
  const inner = gives([A], [])
  const cache = new SimpleCacheGatewaysProvider({ gatewaysProvider: inner, ttlSeconds: 60, logger })
  await cache.getGateways()
  now += 60_000
  assert.deepEqual(await Promise.all([cache.getGateways(), cache.getGateways()]), [[A], [A]])
  assert.equal(inner.calls, 2)
  const error = new Error('down')
  inner.getGateways = async () => {
    throw error
  }
  now += 5_000
  assert.deepEqual(await Promise.all([cache.getGateways(), cache.getGateways()]), [[A], [A]])
  assert.equal(warnings.length, 2)
  assert.equal(warnings[1][1], error)
})

test('SimpleCache: ttlSeconds 0 keeps nothing', async () => {
  const inner = gives([A], [B])
  const cache = new SimpleCacheGatewaysProvider({ gatewaysProvider: inner, ttlSeconds: 0 })
  assert.deepEqual(await cache.getGateways(), [A])
  assert.deepEqual(await cache.getGateways(), [B])
})

test('Composite: the first list that is not empty', async () => {
  const last = gives([B])
  const composite = new CompositeGatewaysProvider({ providers: [fails(), gives([]), gives('text'), gives([A]), last] })
  assert.deepEqual(await composite.getGateways(), [A])
  assert.equal(last.calls, 0)
})

test('Composite: says so when none has gateways', async () => {
  const composite = new CompositeGatewaysProvider({ providers: [fails('first'), gives([])] })
  await assert.rejects(composite.getGateways(), ({ message, cause }) => {
    assert.equal(message, 'All gateways providers failed to return gateways')
    assert.deepEqual(cause.map(String), ['Error: first'])
    return true
  })
  for (const options of [undefined, {}, { providers: [] }]) {
    assert.throws(() => new CompositeGatewaysProvider(options), { message: 'At least one gateways provider must be provided' })
  }
})

test('Composite: addProvider() adds to its own list, getProviders() is a copy', async () => {
  const given = [fails()]
  const composite = new CompositeGatewaysProvider({ providers: given })
  const added = gives([A])
  composite.addProvider(added)
  assert.equal(given.length, 1)
  assert.deepEqual(await composite.getGateways(), [A])
  const copy = composite.getProviders()
  assert.equal(copy[1], added)
  copy.pop()
  assert.equal(composite.getProviders().length, 2)
})

test('numbers out of range are refused with class, option and value', async () => {
  const gatewaysProvider = gives([A])
  const ario = registry({ items: [] })
  const trustedGateway = 'https://peers.example'
  for (const ttlSeconds of [-1, NaN, Infinity, '5', null]) {
    assert.throws(() => new SimpleCacheGatewaysProvider({ gatewaysProvider, ttlSeconds }), RangeError)
  }
  for (const timeoutMs of [0, -1, NaN, Infinity, '5']) {
    assert.throws(() => new TrustedPeersGatewaysProvider({ trustedGateway, timeoutMs }), RangeError)
  }
  for (const limit of [0, 1.5, NaN, Infinity, '5']) assert.throws(() => new NetworkGatewaysProvider({ ario, limit }), RangeError)
  assert.throws(() => new TrustedPeersGatewaysProvider({ trustedGateway, timeoutMs: 0 }), {
    message: 'TrustedPeersGatewaysProvider: timeoutMs must be a finite number above 0, but is 0.',
  })
  assert.throws(() => new NetworkGatewaysProvider({ ario, limit: 1.5 }), {
    message: 'NetworkGatewaysProvider: limit must be an integer of at least 1, but is 1.5.',
  })
})

test('wrong options are refused by name', async () => {
  const gatewaysProvider = gives([A])
  const ario = registry({ items: [] })
  const refused = (make, message) => assert.throws(make, { name: 'WaypostError', reason: 'invalid_option', message })
  const typo = { gatewaysProvider, ttlSecond: 5 }
  refused(() => new SimpleCacheGatewaysProvider(typo), /unknown option ttlSecond\. Did you mean "ttlSeconds"\?/)
  refused(() => new StaticGatewaysProvider(), /The options of StaticGatewaysProvider must be an object/)
  refused(() => new TrustedPeersGatewaysProvider({ trustedGateway: 'https://a.example', fetch: 1 }), /fetch must be a function/)
  refused(() => new NetworkGatewaysProvider({ ario: {} }), /ario must be an object with getGateways\(\)/)
  refused(() => new NetworkGatewaysProvider({ ario, sortOrder: 'up' }), /sortOrder must be "asc" or "desc", but is "up"/)
  refused(() => new NetworkGatewaysProvider({ ario, filter: 'joined' }), /filter must be a function/)
  refused(() => new SimpleCacheGatewaysProvider({}), /gatewaysProvider must be an object with getGateways\(\)/)
  refused(() => new CompositeGatewaysProvider({ providers: [null] }), /provider must be an object with getGateways\(\)/)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  new NetworkGatewaysProvider({ ario, blocklist: ['x'], logger })
  new StaticGatewaysProvider({ gateways: [], logger })
})
