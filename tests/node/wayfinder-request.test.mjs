/** What a caller gives to `request()`, what goes over the wire, and how requests are stopped. */

import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import test, { after } from 'node:test'
import {
  createWayfinderClient, FastestPingRoutingStrategy, PingRoutingStrategy, PriorityRoutingStrategy, RandomRoutingStrategy,
  RoundRobinRoutingStrategy, SimpleCacheRoutingStrategy, StaticRoutingStrategy, TrustedPeersGatewaysProvider, Wayfinder, WaypostError,
} from 'waypost'
import { rejection } from '../support/client.mjs'
import { forbidUnhandled, settle, spyStrategy } from '../support/fake-gateways.mjs'
import { fetchVia, IDS, sandboxOf, startGateway, startGateways } from '../support/gateway.mjs'

forbidUnhandled(after)

const TEXT = `ar://${IDS.text}`
const TEXT_PATH = `/${IDS.text}`
const TEXT_BODY = 'hello permaweb\n'

const listOf = (urls) => ({ getGateways: async () => urls })
const urlsOf = (gateways) => gateways.map(({ url }) => new URL(url))
const gets = (gateways) => gateways.map(({ counters }) => counters.of('GET'))

/** A client that always chooses this gateway. */
const only = (gateway, options) => withStrategy(new StaticRoutingStrategy({ gateway: gateway.url }), options)
const withStrategy = (strategy, options) => new Wayfinder({ routingSettings: { strategy }, ...options })
const ordered = (gateways, options) =>
  withStrategy(new PriorityRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) }), options)

/** Keeps `fetch` as it is and remembers its calls. */
function watchFetch(t, target = globalThis) {
  const calls = []
  const original = globalThis.fetch
  const spy = function (input, init) {
    calls.push({ self: this, href: new Request(input, { ...init, signal: undefined }).url, method: init?.method ?? 'GET' })
    return original(input, init)
  }
  if (target === globalThis) {
    globalThis.fetch = spy
    t.after(() => (globalThis.fetch = original))
  }
  return { calls, spy }
}

/** A server that keeps what arrives, names of headers as they were written. */
async function startRecorder(t) {
  const seen = []
  const server = createServer(async (incoming, response) => {
    const chunks = await incoming.toArray()
    seen.push({ method: incoming.method, target: incoming.url, headers: incoming.headers, body: Buffer.concat(chunks).toString() })
    response.end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => { server.closeAllConnections(); server.close() })
  return { seen, url: `http://127.0.0.1:${server.address().port}` }
}

/** Headers that any `fetch` of Node's sends by itself. */
async function bareHeaders(t) {
  const recorder = await startRecorder(t)
  await (await fetch(recorder.url)).text()
  return Object.keys(recorder.seen[0].headers).sort()
}

test('a bare request has no header of its own: nothing that would need a preflight', async (t) => {
  const recorder = await startRecorder(t)
  const strategy = new FastestPingRoutingStrategy({ gatewaysProvider: listOf([new URL(recorder.url)]) })
  await (await withStrategy(strategy).request(TEXT)).text()
  const bare = await bareHeaders(t)
  assert.deepEqual(recorder.seen.map(({ method }) => method), ['HEAD', 'GET'])
  for (const { headers } of recorder.seen) assert.deepEqual(Object.keys(headers).filter((name) => !bare.includes(name)), [])
})

test('method, headers and body reach the gateway, once', async (t) => {
  const recorder = await startRecorder(t)
  const body = '{"query":"{ info }"}'
  const headers = { 'content-type': 'application/json', 'X-Own': 'mine' }
  const response = await only(recorder).request('ar:///graphql', { method: 'POST', headers, body })
  assert.equal(await response.text(), 'ok')
  assert.equal(recorder.seen.length, 1)
  const [call] = recorder.seen
  assert.deepEqual([call.method, call.target, call.body], ['POST', '/graphql', body])
  assert.deepEqual([call.headers['content-type'], call.headers['x-own']], ['application/json', 'mine'])
})

for (const [name, fault, options] of [['500', 'status', { status: 500 }], ['503', 'status', { status: 503 }], ['a reset', 'reset', {}]]) {
  test(`POST is not repeated after ${name}: it may have been executed`, async (t) => {
    const gateways = await startGateways(t, 3)
    for (const gateway of gateways) gateway.fault(fault, options)
    const outcome = await ordered(gateways).request('ar:///graphql', { method: 'POST', body: '{}' }).catch((error) => error)
    assert.deepEqual(gateways.map(({ counters }) => counters.of('POST')), [1, 0, 0])
    if (fault === 'status') assert.equal(outcome.status, options.status)
    else assert.ok(outcome instanceof WaypostError, String(outcome))
  })
}

test('POST that nobody answered is not repeated, and the breaker makes the next one go elsewhere', async (t) => {
  const gateways = await startGateways(t, 2)
  await gateways[0].refuse()
  const { request } = ordered(gateways, { circuitBreaker: { failureThreshold: 1 } })
  const error = await rejection(request('ar:///graphql', { method: 'post', body: '{"a":1}' }))
  assert.ok(error instanceof WaypostError)
  assert.equal(gateways[1].counters.total, 0)
  const response = await request('ar:///graphql', { method: 'POST', body: '{"a":1}' })
  assert.equal(await response.text(), '{"a":1}')
  assert.equal(gateways[1].counters.of('POST'), 1)
})

test('HEAD is asked with HEAD and fails over', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 500 })
  const response = await ordered(gateways).request(TEXT, { method: 'HEAD' })
  assert.deepEqual([response.status, response.headers.get('content-length'), await response.text()], [200, '15', ''])
  assert.deepEqual(gets(gateways), [0, 0])
})

test('a path of the gateway (ar:///…) is served, and fails over as well', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 502 })
  const response = await ordered(gateways).request('ar:///ar-io/info')
  assert.equal((await response.json()).wallet, 'b')
})

test('addresses may be strings, URLs and Requests, in whatever case', async (t) => {
  const [gateway] = await startGateways(t, 1)
  const wayfinder = only(gateway)
  for (const input of [TEXT, TEXT.replace('ar:', 'AR:'), new URL(TEXT), new Request(TEXT), new Request(new URL(TEXT))]) {
    assert.equal(await (await wayfinder.request(input)).text(), TEXT_BODY, String(input.url ?? input))
  }
  const ranged = new Request(TEXT, { headers: { range: 'bytes=0-4' } })
  assert.equal(await (await wayfinder.request(ranged)).text(), 'hello')
  const over = await wayfinder.request(ranged, { headers: { range: 'bytes=6-13' } })
  assert.equal(await over.text(), 'permaweb', 'init wins over the Request')
  const post = new Request('ar:///graphql', { method: 'POST', body: '{"q":1}', headers: { 'content-type': 'application/json' } })
  assert.equal(await (await wayfinder.request(post)).text(), '{"q":1}')
  assert.equal(gateway.counters.of('POST'), 1)
})

test('the signal of a Request counts', async (t) => {
  const [gateway] = await startGateways(t, 1)
  gateway.fault('hang')
  const controller = new AbortController()
  const request = rejection(only(gateway).request(new Request(TEXT, { signal: controller.signal })))
  await gateway.counters.until((counters) => counters.of('GET') === 1)
  controller.abort()
  assert.equal((await request).name, 'AbortError')
  await gateway.counters.idle()
})

test('the query and the fragment arrive as written', async (t) => {
  const recorder = await startRecorder(t)
  await (await only(recorder).request(`${TEXT}/a%20b?x=1?y=2&z=%2F#frag`)).text()
  assert.equal(recorder.seen[0].target, `${TEXT_PATH}/a%20b?x=1?y=2&z=%2F`)
})

test('by host names: ids go to their sandbox, names to theirs, and the answer tells its URL', async (t) => {
  const [gateway] = await startGateways(t, 1)
  t.mock.method(globalThis, 'fetch', fetchVia())
  const strategy = new StaticRoutingStrategy({ gateway: gateway.at('gw-a.test') })
  const { request } = withStrategy(strategy)
  const byId = await request(TEXT)
  assert.equal(byId.url, `http://${sandboxOf(IDS.text)}.gw-a.test:${gateway.port}${TEXT_PATH}`)
  assert.equal(byId.redirected, false)
  const byName = await request('ar://hello')
  assert.deepEqual([byName.url, await byName.text()], [`http://hello.gw-a.test:${gateway.port}/`, TEXT_BODY])
})

test('url and redirected of an answer that was redirected are kept', async (t) => {
  const [gateway] = await startGateways(t, 1)
  gateway.fault('redirect', { path: '/old', location: TEXT_PATH })
  const response = await only(gateway).request('ar:///old')
  assert.deepEqual([response.url, response.redirected, response.status], [gateway.url + TEXT_PATH, true, 200])
  assert.equal(await response.text(), TEXT_BODY)
  const manual = await only(gateway).request('ar:///old', { redirect: 'manual' })
  assert.equal(manual.status, 302)
})

test('addresses that are not ar:// pass through as they are', async (t) => {
  const recorder = await startRecorder(t)
  const strategy = spyStrategy(() => assert.fail('nothing is to be chosen'))
  const wayfinder = withStrategy(strategy)
  const init = { method: 'PUT', body: 'data', headers: { 'x-own': 'mine' } }
  const inputs = [`${recorder.url}/x`, new URL('/x', recorder.url), new Request(`${recorder.url}/x`)]
  for (const input of inputs) {
    const response = await wayfinder.request(input, init)
    assert.deepEqual([response.status, await response.text(), response.gateway], [200, 'ok', undefined])
  }
  assert.equal(recorder.seen.length, 3)
  for (const { method, target, body, headers } of recorder.seen) {
    assert.deepEqual([method, target, body, headers['x-own']], ['PUT', '/x', 'data', 'mine'])
  }
  const asRequest = new Request(`${recorder.url}/y`, { method: 'POST', body: 'own' })
  await (await wayfinder.request(asRequest)).text()
  assert.deepEqual([recorder.seen[3].method, recorder.seen[3].body], ['POST', 'own'])
})

test('fetch is looked up when it is called, without a this', async (t) => {
  const [gateway] = await startGateways(t, 1)
  const strategy = new PingRoutingStrategy({ routingStrategy: new StaticRoutingStrategy({ gateway: gateway.url }) })
  const wayfinder = withStrategy(strategy)
  const { calls } = watchFetch(t)
  await (await wayfinder.request(TEXT)).text()
  await (await wayfinder.request(`${gateway.url}/`)).text()
  assert.deepEqual(calls.map(({ method }) => method), ['HEAD', 'GET', 'GET'])
  for (const { self } of calls) assert.ok(self === undefined || self === globalThis)
})

test('the fetch option is used for content, probes, peers and everything else', async (t) => {
  const [gateway] = await startGateways(t, 1)
  gateway.peers = [gateway.url]
  const { spy, calls } = watchFetch(t, undefined)
  t.mock.method(globalThis, 'fetch', () => assert.fail('the global fetch is not to be used'))
  const gatewaysProvider = new TrustedPeersGatewaysProvider({ trustedGateway: gateway.url, fetch: spy })
  for (const strategy of [
    new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider }) }),
    new FastestPingRoutingStrategy({ gatewaysProvider }),
  ]) {
    calls.length = 0
    const wayfinder = createWayfinderClient({ fetch: spy, routingStrategy: strategy })
    await (await wayfinder.request(TEXT)).text()
    await (await wayfinder.request(`${gateway.url}/`)).text()
    const asked = calls.map(({ method, href }) => `${method} ${new URL(href).pathname}`)
    assert.deepEqual(asked, ['GET /ar-io/peers', 'HEAD /', `GET ${TEXT_PATH}`, 'GET /'])
    for (const { self } of calls) assert.equal(self, undefined)
  }
})

test('zero configuration uses the fetch option for the peers too', async (t) => {
  const asked = []
  const fetch = async (input) => {
    const url = String(input)
    asked.push(url)
    return url.includes('/ar-io/peers') ? Response.json({ gateways: { 'a.test': { url: 'https://a.test' } } }) : new Response('served')
  }
  t.mock.method(globalThis, 'fetch', () => assert.fail('the global fetch is not to be used'))
  for (const make of [(options) => new Wayfinder(options), createWayfinderClient]) {
    assert.equal(await (await make({ fetch }).request('ar://ardrive')).text(), 'served')
    assert.ok(asked.includes('https://turbo-gateway.com/ar-io/peers'))
    assert.equal(asked.at(-1), 'https://ardrive.a.test/')
  }
})

test('methods work without their object; a strategy set later counts at once, one of a request for it alone', async (t) => {
  const gateways = await startGateways(t, 3)
  const [first, second, third] = urlsOf(gateways)
  const of = (gateway) => ({ selectGateway: async () => gateway })
  const wayfinder = createWayfinderClient({ routingStrategy: of(first) })
  const { request, resolveUrl } = wayfinder
  const who = async (init) => {
    const response = await request(TEXT, init)
    await response.text()
    return response.gateway
  }
  assert.equal(await who(), first)
  wayfinder.setRoutingStrategy(of(second))
  assert.equal(await who(), second)
  assert.equal((await resolveUrl({ txId: IDS.text })).host, second.host)
  assert.equal(await who({ routingSettings: { strategy: of(third) } }), third)
  assert.equal(await who(), second)
})

test('a signal that has fired: nobody is asked, and its reason is kept', async (t) => {
  const [gateway] = await startGateways(t, 1)
  const strategy = new FastestPingRoutingStrategy({ gatewaysProvider: listOf(urlsOf([gateway])) })
  const reason = new DOMException('enough', 'AbortError')
  assert.equal(await rejection(withStrategy(strategy).request(TEXT, { signal: AbortSignal.abort(reason) })), reason)
  const mine = { my: 'reason' }
  // As `fetch` does.
  const seen = await withStrategy(strategy).request(TEXT, { signal: AbortSignal.abort(mine) }).catch((error) => error)
  assert.equal(seen, mine)
  assert.equal(gateway.counters.total, 0)
})

for (const [what, make] of [
  ['a race of pings', (urls) => new FastestPingRoutingStrategy({ gatewaysProvider: listOf(urls), timeoutMs: 60_000 })],
  ['a ping', (urls) => new PingRoutingStrategy({ routingStrategy: new RandomRoutingStrategy({ gatewaysProvider: listOf(urls) }), timeoutMs: 60_000 })],
  ['a race in a cache', (urls) => new SimpleCacheRoutingStrategy({
    routingStrategy: new FastestPingRoutingStrategy({ gatewaysProvider: listOf(urls), timeoutMs: 1_000 }),
  })],
  ['an attempt', (urls) => new RoundRobinRoutingStrategy({ gateways: urls })],
]) {
  test(`the signal ends ${what} at once, with its reason, and closes the connection`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('hang')
    const controller = new AbortController()
    const request = rejection(withStrategy(make(urlsOf([gateway]))).request(TEXT, { signal: controller.signal }))
    await gateway.counters.until(({ total }) => total === 1)
    const reason = new DOMException('enough', 'AbortError')
    controller.abort(reason)
    assert.equal(await request, reason)
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, 1)
    assert.equal(gateway.counters.total, 1, 'nobody is asked any more')
  })
}

test('the signal ends a selection by a strategy that never settles', async () => {
  const controller = new AbortController()
  const strategy = spyStrategy(() => new Promise(() => {}))
  const request = rejection(withStrategy(strategy).request(TEXT, { signal: controller.signal }))
  await settle()
  assert.equal(strategy.seen.length, 1)
  controller.abort()
  assert.equal((await request).name, 'AbortError')
})

test('an abort is no failure of the gateway', async (t) => {
  const gateway = await startGateway(t)
  const wayfinder = only(gateway, { circuitBreaker: { failureThreshold: 1 } })
  gateway.fault('hang', { times: 1 })
  const controller = new AbortController()
  const request = rejection(wayfinder.request(TEXT, { signal: controller.signal }))
  await gateway.counters.until(({ total }) => total === 1)
  controller.abort()
  await request
  const [{ circuit, consecutiveFailures }] = wayfinder.status()
  assert.deepEqual([circuit, consecutiveFailures], ['closed', 0])
})

test('a long-lived signal keeps no listeners of requests that have ended', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('status', { status: 503 })
  const strategy = new FastestPingRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) })
  const wayfinder = withStrategy(strategy)
  const { signal } = new AbortController()
  for (let count = 0; count < 200; count += 1) await (await wayfinder.request(TEXT, { signal })).text()
  await settle()
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
