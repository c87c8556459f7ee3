import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import * as waypost from 'waypost'
import { providerStatus, rejection } from '../support/client.mjs'
import { forbidUnhandled, spyStrategy } from '../support/fake-gateways.mjs'
import { startMocks } from '../support/providers.mjs'

forbidUnhandled(after)

const WHO = { method: 'web3_clientVersion', params: [] }
const SEND = { method: 'eth_sendTransaction', params: [{ to: '0x0000000000000000000000000000000000000001' }] }
const ENVELOPE = { jsonrpc: '2.0', id: 7, ...WHO }
const FOREIGN = 'http://127.0.0.1:9/foreign'
const IDS = 'abc'

// The package as a whole needs axios, which it does not name: its strategies do not.
const THEIR_FILES = ['random', 'static', 'round-robin', 'ping', 'preferred-with-fallback', 'simple-cache', 'composite']
const theirFile = (name) => import(new URL(`../../node_modules/@ar.io/wayfinder-core/dist/routing/${name}.js`, import.meta.url).href)
const theirs = Object.assign({}, ...(await Promise.all(THEIR_FILES.map(theirFile))))
const nothing = () => {}
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** How each strategy of Wayfinder's names is made of the package `lib`, with the URLs of the providers. */
const NAMED = {
  random: (lib) => new lib.RandomRoutingStrategy({ logger: SILENT }),
  static: (lib, [, second]) => new lib.StaticRoutingStrategy({ gateway: second, logger: SILENT }),
  'round-robin': (lib, urls) => new lib.RoundRobinRoutingStrategy({
    logger: SILENT, ...(lib === theirs && { gateways: urls.map((url) => new URL(url)) }),
  }),
  'fastest-ping': (lib) => new lib.FastestPingRoutingStrategy({ logger: SILENT }),
  ping: (lib) => new lib.PingRoutingStrategy({ logger: SILENT, routingStrategy: NAMED.random(lib) }),
  'preferred-with-fallback': (lib, [, second]) => new lib.PreferredWithFallbackRoutingStrategy({
    logger: SILENT, preferredGateway: second, fallbackStrategy: NAMED.random(lib),
  }),
  'simple-cache': (lib) => new lib.SimpleCacheRoutingStrategy({ logger: SILENT, routingStrategy: NAMED.random(lib) }),
  composite: (lib) => new lib.CompositeRoutingStrategy({
    logger: SILENT, strategies: [{ selectGateway: async () => { throw new Error('none') } }, NAMED.random(lib)],
  }),
}
const METRIC = {
  'load-balanced': () => new waypost.LoadBalancedRoutingStrategy(),
  fastest: () => new waypost.FastestRoutingStrategy(),
  'latency-weighted': () => new waypost.LatencyWeightedRoutingStrategy(),
  priority: () => new waypost.PriorityRoutingStrategy(),
  adaptive: () => new waypost.AdaptiveRoutingStrategy(),
}
const OURS = [
  ...Object.entries(NAMED).map(([name, make]) => ({ name, make: (urls) => make(waypost, urls) })),
  ...Object.entries(METRIC).map(([name, make]) => ({ name, make })),
]
const ALL = [
  ...OURS.map((each) => ({ ...each, title: each.name })),
  ...Object.entries(NAMED).map(([name, make]) => ({ name, title: `Wayfinder's own ${name}`, make: (urls) => make(theirs, urls) })),
]

/** What goes out through the global `fetch`: `{ method, url, headers, calls }`. `fail` turns a request into an answer of its own. */
function watchFetch(t, fail = () => undefined) {
  const original = globalThis.fetch
  const seen = []
  t.mock.method(globalThis, 'fetch', async (input, init = {}) => {
    const calls = typeof init.body === 'string' ? [JSON.parse(init.body)].flat().map(({ method }) => method) : []
    const request = { method: init.method ?? 'GET', url: String(input), headers: new Headers(init.headers), calls }
    seen.push(request)
    return fail(request, seen) ?? original(input, init)
  })
  return seen
}

const broken = () => new Response('out of order', { status: 500 })
/** Breaks the first request for a method, whoever gets it. */
const breakFirst = (method) => ({ calls }, seen) =>
  calls.includes(method) && seen.filter((each) => each.calls.includes(method)).length === 1 ? broken() : undefined

const providersAt = (proxies, path = '') => proxies.map(({ url }, at) => ({ id: IDS[at], url: url + path, headers: { 'x-key': `k3y-of-${IDS[at]}` } }))

function open(t, providers, options = {}) {
  const rpc = waypost.createRpcClient({ providers, seed: 1, ...options })
  t.after(() => rpc.dispose())
  return rpc
}

/** Three providers, a strategy and a client over them. `choices()` are the ids of what was chosen. */
async function setUp(t, make, { options = {}, fail, path = '' } = {}) {
  const proxies = await startMocks(t, 3)
  const seen = watchFetch(t, fail)
  const providers = providersAt(proxies, path)
  const strategy = make(providers.map(({ url }) => url))
  const { mock } = t.mock.method(strategy, 'selectGateway')
  const rpc = open(t, providers, { strategy, ...options })
  const idOf = (gateway) => providers.find(({ url }) => new URL(url).href === gateway?.href)?.id
  const choices = async () => (await Promise.allSettled(mock.calls.map(({ result }) => result))).map(({ value }) => idOf(value))
  return { proxies, providers, seen, strategy, rpc, choices }
}

const never = () => new Promise(nothing)
const stuck = () => ({ name: 'stuck', selectGateway: never })
const sent = (seen, method) => seen.filter(({ calls }) => calls.includes(method))
const keysOf = (text) => /k3y-of|s3cret/.exec(text)?.[0]

/** Wayfinder's own probe by HEAD, to which these providers give no answer. */
const canChoose = (title) => !/own (fastest-ping|ping)$/.test(title)

for (const { title, name, make } of ALL) {
  test(`${title}: its choice is asked first, another one when that fails, and its name is in the metadata`, async (t) => {
    const { rpc, choices } = await setUp(t, make, { fail: breakFirst(WHO.method) })
    const { response, meta } = await rpc.send(ENVELOPE)
    const [chosen] = await choices()
    const [first, second, ...more] = meta.attempts
    if (canChoose(title)) assert.equal(first.provider, chosen)
    else assert.equal(chosen, undefined)
    assert.deepEqual([first.outcome, second.outcome, more], ['error', 'success', []])
    assert.notEqual(second.provider, first.provider)
    assert.equal(response.result, `mock/${second.provider}`)
    assert.equal(meta.strategy, name)
  })

  test(`${title}: an unsafe request is sent once, whatever comes of it`, async (t) => {
    const { rpc, seen, choices } = await setUp(t, make, { fail: ({ calls }) => (calls.includes(SEND.method) ? broken() : undefined) })
    const { attempts } = await rejection(rpc.request(SEND))
    assert.equal(sent(seen, SEND.method).length, 1)
    if (canChoose(title)) assert.deepEqual(attempts.map(({ provider }) => provider), await choices())
  })
}

for (const { name, make } of OURS) {
  test(`${name}: whoever has an open breaker is neither asked nor probed`, async (t) => {
    const { rpc, seen, proxies, choices } = await setUp(t, make, { options: { circuitBreaker: { failureThreshold: 1 } } })
    proxies[1].fault('status', { status: 500, times: 1 })
    await rejection(rpc.request(WHO, { provider: 'b' }))
    assert.equal(providerStatus(rpc, 'b').circuit, 'open')
    seen.length = 0
    for (let call = 0; call < 12; call += 1) assert.notEqual(await rpc.request(WHO), 'mock/b')
    assert.deepEqual(seen.filter(({ url }) => url.startsWith(proxies[1].url)), [])
    if (name !== 'static') assert.ok(!(await choices()).includes('b'))
  })

  test(`${name}: everything that is sent is JSON-RPC to a configured URL with that provider's headers, and no key leaks`, async (t) => {
    const { rpc, seen, providers, proxies } = await setUp(t, make, { path: '/v3/s3cret-path?key=s3cret', fail: breakFirst(WHO.method) })
    const said = []
    for (const event of ['attempt', 'request', 'circuit', 'ratelimit']) rpc.on(event, (each) => said.push(each))
    for (let call = 0; call < 4; call += 1) said.push(await rpc.send(ENVELOPE))
    for (const proxy of proxies) proxy.fault('status', { status: 401, body: 'bad s3cret' })
    for (let call = 0; call < 4; call += 1) said.push(await rejection(rpc.request(WHO)))
    for (const { method, url, headers, calls } of seen) {
      const provider = providers.find((each) => each.url === url)
      assert.ok(provider !== undefined, `asked ${url}`)
      assert.deepEqual([method, headers.get('x-key'), headers.get('content-type'), calls.length], ['POST', `k3y-of-${provider.id}`, 'application/json', 1])
      assert.ok([WHO.method, 'eth_chainId'].includes(calls[0]), calls[0])
    }
    for (const each of [...said, rpc.status(), rpc.explain({ method: WHO.method })]) {
      const text = `${inspect(each, { depth: Infinity, showHidden: true })}${JSON.stringify(each)}${each.stack}`
      assert.equal(keysOf(text), undefined, text)
    }
  })
}

const probing = {
  FastestPing: (options) => new waypost.FastestPingRoutingStrategy(options),
  Ping: (options) => new waypost.PingRoutingStrategy({ routingStrategy: new waypost.RoundRobinRoutingStrategy(), ...options }),
}
for (const [name, make] of Object.entries(probing)) {
  test(`${name} sends the probeRequest it was given instead of eth_chainId`, async (t) => {
    const { rpc, seen } = await setUp(t, () => make({ probeRequest: { method: 'eth_gasPrice', params: [] } }))
    await rpc.request(WHO)
    assert.deepEqual([...new Set(seen.flatMap(({ calls }) => calls))].sort(), ['eth_gasPrice', WHO.method])
  })

  test(`${name} skips who does not answer, who answers without a result and who answers something else`, async (t) => {
    for (const fault of [['status', { status: 503 }], ['html'], ['rpcError', { code: -32000, message: 'no' }], ['reset']]) {
      const { rpc, proxies, choices } = await setUp(t, () => make())
      proxies[0].fault(fault[0], { method: 'eth_chainId', ...fault[1] })
      proxies[1].fault(fault[0], { method: 'eth_chainId', ...fault[1] })
      assert.equal(await rpc.request(WHO), 'mock/c', fault[0])
      assert.deepEqual(await choices(), ['c'])
      t.mock.restoreAll()
    }
  })

  test(`${name} keeps apart two providers that share a URL and differ in their headers`, async (t) => {
    const [proxy] = await startMocks(t, 1)
    const seen = watchFetch(t, ({ headers }) => (headers.get('x-key') === 'k3y-of-a' ? new Response('', { status: 401 }) : undefined))
    const rpc = open(t, providersAt([proxy, proxy]), { strategy: make() })
    const { meta } = await rpc.send(ENVELOPE)
    assert.deepEqual(meta.attempts.map(({ provider }) => provider), ['b'])
    assert.deepEqual(sent(seen, 'eth_chainId').map(({ headers }) => headers.get('x-key')).sort(), ['k3y-of-a', 'k3y-of-b'])
  })
}

test('a strategy that names the second of two providers with one URL gets that one', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const rpc = open(t, providersAt([proxy, proxy]), { strategy: spyStrategy(({ gateways }, call) => gateways[call % 2]) })
  for (const id of ['b', 'a', 'b']) assert.deepEqual((await rpc.send(ENVELOPE)).meta.attempts.map(({ provider }) => provider), [id])
})

const foreigners = {
  Static: () => new waypost.StaticRoutingStrategy({ gateway: FOREIGN }),
  Preferred: () => new waypost.PreferredWithFallbackRoutingStrategy({ preferredGateway: FOREIGN }),
  'Ping around Static': () => new waypost.PingRoutingStrategy({ routingStrategy: new waypost.StaticRoutingStrategy({ gateway: FOREIGN }) }),
  'SimpleCache around Static': () => new waypost.SimpleCacheRoutingStrategy({ routingStrategy: new waypost.StaticRoutingStrategy({ gateway: FOREIGN }) }),
  'RoundRobin with a list': () => new waypost.RoundRobinRoutingStrategy({ gateways: [new URL(FOREIGN)] }),
  'a foreign object': () => spyStrategy(() => new URL(FOREIGN)),
  'an object without a choice': () => spyStrategy(() => undefined),
  'an object that throws': () => ({ selectGateway: () => { throw new Error('no') } }),
}
for (const [name, make] of Object.entries(foreigners)) {
  test(`nothing is ever sent to a URL that is not configured: ${name}`, async (t) => {
    const { rpc, seen, proxies } = await setUp(t, make)
    for (let call = 0; call < 3; call += 1) assert.match(await rpc.request(WHO), /^mock/)
    for (const { url } of seen) assert.ok(proxies.some((proxy) => url.startsWith(proxy.url)), url)
  })
}

test('a provider whose URL holds credentials can be named by that URL', async (t) => {
  const proxies = await startMocks(t, 2)
  const providers = proxies.map(({ url }, at) => ({ id: IDS[at], url: url.replace('//', '//user:s3cret@') }))
  const rpc = open(t, providers, { strategy: new waypost.StaticRoutingStrategy({ gateway: providers[1].url }) })
  for (let call = 0; call < 6; call += 1) assert.equal(await rpc.request(WHO), 'mock/b')
})

test('FastestPing takes the quickest and aborts the others', async (t) => {
  const { rpc, proxies, choices } = await setUp(t, () => new waypost.FastestPingRoutingStrategy({ timeoutMs: 20_000 }))
  proxies[0].fault('hang', { method: 'eth_chainId' })
  proxies[1].fault('slow', { method: 'eth_chainId', delayMs: 5_000 })
  assert.equal(await rpc.request(WHO), 'mock/c')
  assert.deepEqual(await choices(), ['c'])
  await Promise.all([0, 1].map((at) => proxies[at].counters.until(({ aborted }) => aborted === 1)))
})

test('PreferredWithFallback prefers while the preferred one answers its probe', async (t) => {
  const { rpc, proxies, choices } = await setUp(t, (urls) => NAMED['preferred-with-fallback'](waypost, urls))
  for (let call = 0; call < 5; call += 1) assert.equal(await rpc.request(WHO), 'mock/b')
  proxies[1].fault('status', { method: 'eth_chainId', status: 503 })
  for (let call = 0; call < 5; call += 1) await rpc.request(WHO)
  const [prefers, falls] = [(await choices()).slice(0, 5), (await choices()).slice(5)]
  assert.deepEqual([new Set(prefers), falls.every((id) => id !== undefined)], [new Set('b'), true])
})

test('RoundRobin rotates over the providers, as it has no list of its own', async (t) => {
  const { rpc, seen } = await setUp(t, () => new waypost.RoundRobinRoutingStrategy())
  const answers = []
  for (let call = 0; call < 6; call += 1) answers.push(await rpc.request(WHO))
  assert.deepEqual(answers, ['mock/a', 'mock/b', 'mock/c', 'mock/a', 'mock/b', 'mock/c'])
  assert.equal(seen.length, 6)
})

test('Composite goes on to the next strategy when one has no choice', async (t) => {
  const { rpc, proxies } = await setUp(t, (urls) => new waypost.CompositeRoutingStrategy({
    strategies: [
      new waypost.PingRoutingStrategy({ routingStrategy: new waypost.StaticRoutingStrategy({ gateway: urls[0] }), retries: 1 }),
      new waypost.StaticRoutingStrategy({ gateway: urls[2] }),
    ],
  }))
  assert.equal(await rpc.request(WHO), 'mock/a')
  proxies[0].fault('status', { method: 'eth_chainId', status: 503 })
  assert.equal(await rpc.request(WHO), 'mock/c')
})

test('SimpleCache probes once for many requests, at once or one after the other', async (t) => {
  const { rpc, seen } = await setUp(t, () => new waypost.SimpleCacheRoutingStrategy({ routingStrategy: new waypost.FastestPingRoutingStrategy() }))
  await Promise.all(Array.from({ length: 20 }, () => rpc.request(WHO)))
  for (let call = 0; call < 20; call += 1) await rpc.request(WHO)
  assert.equal(sent(seen, 'eth_chainId').length, 3)
})

test('SimpleCache selects anew after its provider has failed', async (t) => {
  const { rpc, proxies, choices } = await setUp(t, () => new waypost.SimpleCacheRoutingStrategy({ routingStrategy: new waypost.RoundRobinRoutingStrategy() }))
  assert.equal(await rpc.request(WHO), 'mock/a')
  proxies[0].fault('status', { status: 500 })
  for (let call = 0; call < 10; call += 1) await rpc.request(WHO)
  const [first, ...later] = await choices()
  assert.equal(first, 'a')
  assert.ok(later.at(-1) !== 'a', `${later}`)
})

/** Providers that answer in so many milliseconds of a clock that only they move. */
function timedWorld(t, latencies, options) {
  const clock = { ms: 1_000 }
  const fetch = async (url, { body }) => {
    const { hostname } = new URL(url)
    clock.ms += latencies[hostname]
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: hostname }))
  }
  const providers = Object.keys(latencies).map((id) => ({ id, url: `https://${id}`, priority: latencies[id] }))
  return open(t, providers, { fetch, now: () => clock.ms, ...options })
}

const LATENCIES = { slow: 90, quick: 30, middle: 60 }
for (const [name, make] of Object.entries(METRIC)) {
  test(`the class ${name} chooses as the word does, on the same measurements`, async (t) => {
    const shares = []
    for (const strategy of [name, make()]) {
      const rpc = timedWorld(t, LATENCIES, { strategy })
      for (const provider of Object.keys(LATENCIES)) {
        for (let call = 0; call < 10; call += 1) await rpc.request(WHO, { provider })
      }
      const counts = { slow: 0, quick: 0, middle: 0 }
      for (let call = 0; call < 400; call += 1) counts[await rpc.request(WHO)] += 1
      shares.push(counts)
    }
    const [word, object] = shares
    if (['fastest', 'priority'].includes(name)) assert.deepEqual([word.quick, object.quick], [400, 400])
    for (const id of Object.keys(LATENCIES)) assert.ok(Math.abs(word[id] - object[id]) <= 40, inspect(shares))
  })
}

const places = {
  'of the client': (strategy) => [{ strategy }, {}],
  'of a profile': (strategy, providers) => [{ providers: undefined, profiles: { p: { strategy, chains: { x: { providers } } } } }, { profile: 'p' }],
  'of a request': (strategy) => [{ strategy: 'priority' }, { strategy }],
}
for (const [where, place] of Object.entries(places)) {
  test(`a strategy object ${where} decides, for request and send, single and in a batch`, async (t) => {
    const proxies = await startMocks(t, 3)
    const providers = providersAt(proxies)
    const [options, own] = place(new waypost.StaticRoutingStrategy({ gateway: providers[2].url }), providers)
    const { providers: given = providers, ...rest } = 'providers' in options ? { ...options, providers: null } : options
    const rpc = waypost.createRpcClient({ ...(given && { providers: given }), seed: 1, ...rest })
    t.after(() => rpc.dispose())
    for (let call = 0; call < 5; call += 1) assert.equal(await rpc.request(WHO, own), 'mock/c')
    const { response, meta } = await rpc.send(ENVELOPE, own)
    assert.deepEqual([response.result, meta.strategy], ['mock/c', 'static'])
    const batch = await rpc.send([1, 2, 3].map((id) => ({ ...ENVELOPE, id })), own)
    assert.deepEqual(batch.response.map(({ id, result }) => [id, result]), [[1, 'mock/c'], [2, 'mock/c'], [3, 'mock/c']])
    assert.equal(batch.meta.strategy, 'static')
    assert.deepEqual(proxies.map(({ counters }) => counters.total), [0, 0, 9])
  })
}

test('the signal ends a selection with its reason: probes are aborted and the request is not sent', async (t) => {
  for (const strategy of [new waypost.FastestPingRoutingStrategy({ timeoutMs: 60_000 }), stuck(), NAMED['simple-cache'](waypost)]) {
    const { rpc, proxies, seen } = await setUp(t, () => strategy, { options: { deadlineMs: 600_000 } })
    for (const proxy of proxies) proxy.fault('hang')
    for (const ask of [(signal) => rpc.request(WHO, { signal }), (signal) => rpc.send([ENVELOPE], { signal })]) {
      const controller = new AbortController()
      const reason = new Error('changed my mind')
      const open = rejection(ask(controller.signal))
      await delay(20)
      controller.abort(reason)
      const error = await open
      assert.deepEqual([error.name, error.cause ?? error], ['AbortError', reason])
    }
    await Promise.all(proxies.map(({ counters }) => counters.until(({ aborted, bodies }) => aborted === bodies)))
    if (strategy.name !== 'simple-cache') assert.deepEqual(sent(seen, WHO.method), [])
    t.mock.restoreAll()
  }
})

/** What came first: the work, or a timer of `ms`. */
const within = (ms, work) => Promise.race([work.then(() => 'done', () => 'done'), delay(ms, 'late', { ref: false })])

for (const [where, options, own] of [['a request', {}, { deadlineMs: 2_000 }], ['the client', { deadlineMs: 2_000 }, {}]]) {
  test(`a strategy that never chooses costs less than half of the deadline of ${where}`, async (t) => {
    const { rpc } = await setUp(t, stuck, { options })
    assert.equal(await within(1_000, rpc.request(WHO, own)), 'done')
  })

  test(`the deadline of ${where} holds, choice included`, async (t) => {
    const { rpc, proxies } = await setUp(t, stuck, { options })
    for (const proxy of proxies) proxy.fault('hang')
    assert.equal(await within(2_350, rpc.request(WHO, own)), 'done')
  })
}

test('a strategy that never chooses costs a batch no more than a single call', async (t) => {
  const { rpc } = await setUp(t, stuck)
  const batch = Array.from({ length: 10 }, (_, id) => ({ ...ENVELOPE, id }))
  assert.equal(await within(2_000, rpc.send(batch, { deadlineMs: 2_000 })), 'done')
})

test('dispose ends a selection and aborts its probes', async (t) => {
  const { rpc, proxies } = await setUp(t, () => new waypost.FastestPingRoutingStrategy({ timeoutMs: 10_000 }))
  for (const proxy of proxies) proxy.fault('hang')
  const open = rpc.request(WHO, { deadlineMs: 40_000 })
  await Promise.all(proxies.map(({ counters }) => counters.until(({ bodies }) => bodies === 1)))
  rpc.dispose()
  const aborted = Promise.all(proxies.map(({ counters }) => counters.until((each) => each.aborted === 1)))
  assert.deepEqual([await within(2_000, open), await within(2_000, aborted)], ['done', 'done'])
})
