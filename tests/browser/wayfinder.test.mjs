/** The content client in a page: who is asked, who answers, and what the caller sees. */

import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BROWSER, openPage, startBrowser } from '../support/browser.mjs'
import { CONTENT, IDS, digestOf, sandboxOf, startGateway, startGateways } from '../support/gateway.mjs'
import { startMocks } from '../support/providers.mjs'
import { serveStatic } from '../support/static-server.mjs'

const STRATEGIES = [
  'Composite', 'Fastest', 'FastestPing', 'LatencyWeighted', 'LoadBalanced', 'Ping', 'PreferredWithFallback', 'Priority',
  'Random', 'RoundRobin', 'SimpleCache', 'Static',
]
const MANY = 20
// By itself, Firefox asks again whoever resets the connection.
const TRIES = BROWSER === 'firefox' ? 10 : 1
const REQUESTS = 5
/** HEADs of the strategies that probe: for the first request, and for each one after it. Others send none. */
const HEADS = {
  Composite: [MANY, MANY], FastestPing: [MANY, MANY], SimpleCache: [MANY, 0], Ping: [1, 1], PreferredWithFallback: [1, 1],
}

const textOf = (id) => CONTENT[id].body.toString()
const named = (gateways) => gateways.map((gateway) => gateway.at(`gw-${gateway.tag}.localhost`))
const namesOn = (gateway, count, name) => Array.from({ length: count }, (_, index) => gateway.at(`${name}-${index}.localhost`))
const hostsOf = (urls) => urls.map((url) => new URL(url).host)
/** Hosts that were asked for their root, which is what probes do. */
const probedHosts = ({ counters }) => counters.headers.flatMap(({ host }, at) => (counters.targets[at] === '/' ? [host] : []))

/** Runs in the page: a strategy of that class over these gateways, the first of which it prefers if it prefers one. */
function makeStrategy(waypost, name, urls, timeoutMs = 5_000) {
  const make = (kind, options) => new waypost[`${kind}RoutingStrategy`](options)
  const gatewaysProvider = new waypost.StaticGatewaysProvider({ gateways: urls })
  const random = make('Random', { gatewaysProvider })
  const fastestPing = make('FastestPing', { gatewaysProvider, timeoutMs })
  const options = {
    Composite: { strategies: [fastestPing, random] },
    FastestPing: { gatewaysProvider, timeoutMs },
    Ping: { routingStrategy: random, timeoutMs },
    PreferredWithFallback: { preferredGateway: urls[0], fallbackStrategy: random },
    RoundRobin: { gateways: urls.map((url) => new URL(url)) },
    SimpleCache: { routingStrategy: fastestPing },
    Static: { gateway: urls[0] },
  }
  return make(name, options[name] ?? { gatewaysProvider })
}

/** Runs in the page. Its reader tells why a body has stopped; of `text()`, browsers say only that it failed. */
async function readText({ body }) {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value, { stream: true })
  return text
}

/** Runs in the page: asks for all addresses, one after the other, and reports what the caller sees. */
async function ask(waypost, make, { strategy, urls, addresses, timeoutMs, options }) {
  const { request } = waypost.createWayfinderClient({ routingStrategy: make(waypost, strategy, urls, timeoutMs), ...options })
  const failure = ({ name, reason, message }) => ({ name, reason, message })
  const asked = async (address) => {
    const response = await request(address)
    const { status, url, gateway, attempts } = response
    const seen = { status, url, gateway: gateway.host, attempts: attempts.map(({ provider, outcome }) => [provider, outcome]) }
    try {
      return { ...seen, text: await readText(response) }
    } catch (error) {
      return { ...seen, error: failure(error) }
    }
  }
  const seen = []
  for (const address of addresses) seen.push(await asked(address).catch((error) => ({ error: failure(error) })))
  return seen
}

// One browser for the file: it takes longer to start than all else together.
const cleanups = []
const hooks = { after: (cleanup) => cleanups.push(cleanup) }
let site
let page
before(async () => {
  const { browser } = await startBrowser(hooks, [])
  const kit = `
    import * as waypost from '/waypost/index.js'
    export * from '/waypost/index.js'
    ${makeStrategy}
    ${readText}
    ${ask}
    const make = (...args) => makeStrategy(waypost, ...args)
    const askAll = (task) => ask(waypost, makeStrategy, task)
    export { make as makeStrategy, askAll as ask, readText }
  `
  const origin = await serveStatic(hooks, {
    folders: { waypost: dirname(fileURLToPath(import.meta.resolve('waypost'))) },
    pages: { '/': { type: '.html', body: '<!doctype html><title>Waypost</title>' }, '/kit.js': { type: '.js', body: kit } },
  })
  site = { browser, origin }
  page = await open(hooks)
})
after(async () => { for (const cleanup of cleanups.reverse()) await cleanup() })

async function open(t) {
  const { page, errors } = await openPage(site)
  t.after(async () => {
    await page.close()
    assert.deepEqual(errors, [])
  })
  return page
}

const asked = (task) => page.evaluate((given) => import('/kit.js').then((kit) => kit.ask(given)), task)

for (const strategy of STRATEGIES) {
  test(`in a page, ${strategy}RoutingStrategy serves ids, names, manifest paths and undernames, without preflights`, async (t) => {
    const gateways = await startGateways(t, 2)
    const urls = named(gateways)
    const places = [
      [`ar://${IDS.text}`, IDS.text, sandboxOf(IDS.text), `/${IDS.text}`],
      ['ar://hello', IDS.text, 'hello', '/'],
      ['ar://docs/a/b.css', IDS.style, 'docs', '/a/b.css'],
      ['ar://style_docs?v=1', IDS.style, 'style_docs', '/?v=1'],
    ]
    const seen = await asked({ strategy, urls, addresses: places.map(([address]) => address) })
    for (const [at, [, id, subdomain, path]] of places.entries()) {
      const { gateway } = seen[at]
      assert.ok(hostsOf(urls).includes(gateway), `${gateway} is one of the gateways`)
      assert.deepEqual(seen[at], {
        status: 200, text: textOf(id), gateway, url: `http://${subdomain}.${gateway}${path}`, attempts: [[gateway, 'success']],
      })
    }
    for (const { counters } of gateways) assert.deepEqual(counters.preflights, [])
    assert.equal(gateways.reduce((sum, { counters }) => sum + counters.of('GET'), 0), places.length)
  })

  test(`in a page, RPC providers take ${strategy}RoutingStrategy as their strategy: it probes by JSON-RPC`, async (t) => {
    const proxies = await startMocks(t, 2)
    const urls = proxies.map(({ url }) => url)
    const { price, sent } = await page.evaluate(async ({ strategy, urls }) => {
      const { createRpcClient, makeStrategy } = await import('/kit.js')
      const sent = []
      const recorded = (url, init) => {
        sent.push({ verb: init.method, method: JSON.parse(init.body).method })
        return fetch(url, init)
      }
      const rpc = createRpcClient({ providers: urls, strategy: makeStrategy(strategy, urls), fetch: recorded })
      return { price: await rpc.request({ method: 'eth_gasPrice' }), sent }
    }, { strategy, urls })
    assert.equal(price, '0x1')
    const methods = sent.map(({ method }) => method)
    const probes = methods.filter((method) => method !== 'eth_gasPrice')
    const [first = 0] = HEADS[strategy] ?? []
    assert.deepEqual([...new Set(sent.map(({ verb }) => verb))], ['POST'])
    assert.deepEqual(probes, Array.from({ length: Math.min(first, urls.length) }, () => 'eth_chainId'))
    assert.equal(methods.length - probes.length, 1)
  })
}

// What comes of two gateways of which the first misbehaves: `by` answers with `status`.
const FAULTS = [
  { name: 'is slow', fault: ['slow', { delayMs: 300 }], by: 'a', status: 200 },
  { name: 'has nothing there', fault: ['status', { status: 404, body: 'none' }], by: 'a', status: 404 },
  { name: 'does not allow it', fault: ['status', { status: 405, body: 'none' }], by: 'a', status: 405 },
  { name: 'has too many requests', fault: ['status', { status: 429, headers: { 'retry-after': '90' } }], by: 'b', status: 200 },
  { name: 'is broken', fault: ['status', { status: 500 }], by: 'b', status: 200 },
  { name: 'is unavailable', fault: ['status', { status: 503, headers: { 'retry-after': '1' } }], by: 'b', status: 200 },
  { name: 'resets the connection', fault: ['reset'], by: 'b', status: 200 },
  { name: 'sends no headers in time', fault: ['hang'], by: 'b', status: 200, options: { attemptTimeoutMs: 500 }, isAborted: true },
  { name: 'is silent for long', fault: ['hang'], by: 'b', status: 200, isAborted: true, outcome: 'abandoned' },
]

for (const { name, fault, by, status, options, isAborted, outcome = 'error' } of FAULTS) {
  test(`in a page, a gateway that ${name}: ${status} from ${by}`, async (t) => {
    const [a, b] = await startGateways(t, 2)
    a.fault(...fault)
    const urls = named([a, b])
    const hosts = hostsOf(urls)
    const [seen] = await asked({ strategy: 'Priority', urls, addresses: ['ar://hello'], options })
    const isFirst = by === 'a'
    assert.deepEqual([seen.status, seen.gateway], [status, isFirst ? hosts[0] : hosts[1]])
    assert.deepEqual(seen.attempts, isFirst ? [[hosts[0], 'success']] : [[hosts[0], outcome], [hosts[1], 'success']])
    assert.equal(seen.text, status === 200 ? textOf(IDS.text) : 'none')
    const [first, second] = [a, b].map(({ counters }) => counters.of('GET'))
    assert.equal(second, isFirst ? 0 : 1)
    assert.ok(first === 1 || (name === 'resets the connection' && first <= TRIES), `${first} requests to the first gateway`)
    if (isAborted) await a.counters.until(({ aborted }) => aborted === 1)
  })
}

test('in a page, a gateway that refuses connections is passed over, and put last from then on', async (t) => {
  const [a, b] = await startGateways(t, 2)
  await a.refuse()
  const urls = named([a, b])
  const seen = await asked({ strategy: 'Priority', urls, addresses: Array.from({ length: 10 }, () => 'ar://hello') })
  const [dead, good] = hostsOf(urls)
  assert.deepEqual(seen.map(({ gateway }) => gateway), Array.from({ length: 10 }, () => good))
  assert.deepEqual(seen[0].attempts, [[dead, 'error'], [good, 'success']])
  assert.deepEqual(seen[9].attempts, [[good, 'success']])
})

test('in a page, a gateway that asks for patience is left alone for as long', async (t) => {
  const [a, b] = await startGateways(t, 2)
  a.fault('status', { status: 429, headers: { 'retry-after': '90' } })
  const addresses = Array.from({ length: REQUESTS }, () => 'ar://hello')
  await asked({ strategy: 'Priority', urls: named([a, b]), addresses })
  assert.deepEqual([a, b].map(({ counters }) => counters.of('GET')), [1, REQUESTS])
})

test('in a page, if nobody has better the last poor answer is returned', async (t) => {
  const [a, b] = await startGateways(t, 2)
  for (const gateway of [a, b]) gateway.fault('status', { status: 502, body: `bad gateway ${gateway.tag}` })
  const urls = named([a, b])
  const [seen] = await asked({ strategy: 'Priority', urls, addresses: ['ar://hello'] })
  assert.deepEqual([seen.status, seen.text, seen.gateway], [502, 'bad gateway b', hostsOf(urls)[1]])
})

test('in a page, without any answer the error says why', async (t) => {
  const [dead, silent] = await startGateways(t, 2)
  await dead.refuse()
  silent.fault('hang')
  const reasonOf = async (gateway, options) => {
    const urls = namesOn(gateway, 2, 'gw')
    const [{ error }] = await asked({ strategy: 'Priority', urls, addresses: ['ar://hello'], options })
    return [error.name, error.reason]
  }
  assert.deepEqual(await reasonOf(dead), ['WaypostError', 'exhausted'])
  assert.deepEqual(await reasonOf(silent, { deadlineMs: 500 }), ['WaypostError', 'deadline'])
})

test('in a page, a body that stops is an error that names the gateway, and the next request goes to another', async (t) => {
  const [a, b] = await startGateways(t, 2)
  a.fault('hangBody', { times: 1 })
  const urls = named([a, b])
  const [host, other] = hostsOf(urls)
  const [stopped, next] = await asked({
    strategy: 'Priority', urls, addresses: ['ar://hello', 'ar://hello'],
    options: { idleTimeoutMs: 300, circuitBreaker: { failureThreshold: 1 } },
  })
  assert.deepEqual([stopped.status, stopped.gateway], [200, host])
  assert.match(stopped.error.message, new RegExp(`^The gateway ${host} sent nothing for 300 ms`))
  await a.counters.until(({ aborted }) => aborted === 1)
  assert.deepEqual([next.gateway, next.text], [other, textOf(IDS.text)])
})

// Each with what the client has to be told: whoever hangs is waited for.
const BAD = {
  'refuse connections': { spoil: (gateway) => gateway.refuse() },
  'answer 503': { spoil: (gateway) => gateway.fault('status', { status: 503 }) },
  hang: { spoil: (gateway) => gateway.fault('hang'), timeoutMs: 500, options: { attemptTimeoutMs: 500 } },
}

for (const [name, { spoil, ...settings }] of Object.entries(BAD)) {
  test(`in a page, one good gateway of ${MANY} serves always, though the others ${name}`, async (t) => {
    const [bad, good] = await startGateways(t, 2)
    await spoil(bad)
    const urls = [...namesOn(bad, MANY - 1, 'bad'), good.at('good.localhost')]
    const task = { urls, addresses: ['ar://docs/a/b.css'], ...settings }
    // The static one knows nobody but its own.
    const strategies = STRATEGIES.filter((strategy) => strategy !== 'Static')
    const seen = await Promise.all(strategies.map((strategy) => asked({ ...task, strategy })))
    for (const [at, [{ gateway, text, error }]] of seen.entries()) {
      const what = `${strategies[at]}: ${error?.message}`
      assert.deepEqual([gateway, text], [hostsOf(urls).at(-1), textOf(IDS.style)], what)
    }
  })
}

for (const strategy of STRATEGIES) {
  test(`in a page, ${strategy}RoutingStrategy sends no more HEADs than it says`, async (t) => {
    const gateway = await startGateway(t)
    const addresses = Array.from({ length: REQUESTS }, () => 'ar://docs/a/b.css')
    const seen = await asked({ strategy, urls: namesOn(gateway, MANY, 'gw'), addresses })
    assert.deepEqual(seen.map(({ status }) => status), addresses.map(() => 200))
    const [first, later] = HEADS[strategy] ?? [0, 0]
    const heads = gateway.counters.of('HEAD')
    const most = first + later * (REQUESTS - 1)
    // Those who lose a race may be stopped before they have reached the gateway.
    if (first === MANY) assert.ok(heads >= 1 && heads <= most, `${heads} HEADs, ${most} at most`)
    else assert.equal(heads, most)
    assert.equal(gateway.counters.of('HEAD', '/'), heads)
    assert.deepEqual(gateway.counters.preflights, [])
  })
}

for (const strategy of Object.keys(HEADS)) {
  test(`in a page, ${strategy}RoutingStrategy probes nobody twice for one request, whatever fails`, async (t) => {
    const [bad, good] = await startGateways(t, 2)
    bad.fault('status', { status: 503 })
    const urls = [...namesOn(bad, MANY - 1, 'bad'), good.at('good.localhost')]
    const [{ status }] = await asked({ strategy, urls, addresses: ['ar://docs/a/b.css'] })
    assert.equal(status, 200)
    const hosts = probedHosts(bad)
    assert.deepEqual(hosts, [...new Set(hosts)])
  })
}

test('in a page, probes that are not allowed cost nobody the content', async (t) => {
  const gateways = await startGateways(t, 2)
  for (const gateway of gateways) gateway.fault('status', { status: 405, method: 'HEAD' })
  for (const strategy of Object.keys(HEADS)) {
    const [{ text }] = await asked({ strategy, urls: named(gateways), addresses: ['ar://hello'] })
    assert.equal(text, textOf(IDS.text), strategy)
  }
})

test('in a page, the losers of a race of pings are stopped', async (t) => {
  const [quick, ...silent] = await startGateways(t, 4)
  for (const gateway of silent) gateway.fault('hang')
  // All are on their way before the winner may answer.
  quick.fault('held', {
    method: 'HEAD', until: Promise.all(silent.map(({ counters }) => counters.until((seen) => seen.of('HEAD') === 1))),
  })
  const urls = named([quick, ...silent])
  const [{ gateway }] = await asked({ strategy: 'FastestPing', urls, addresses: ['ar://hello'], timeoutMs: 60_000 })
  assert.equal(gateway, hostsOf(urls)[0])
  await Promise.all(silent.map(({ counters }) => counters.until(({ aborted }) => aborted === 1)))
})

test('in a page, the only quick gateway of 80 wins the race of pings, though it is the last and 50 run at once', async (t) => {
  const [slow, quick] = await startGateways(t, 2)
  let together
  const isFull = slow.counters.until(({ total }) => total === 50)
  // Whoever comes while nobody has been answered is one too many.
  const until = isFull.then(() => delay(1_000)).then(() => { together = slow.counters.total })
  slow.fault('held', { times: 50, until }).fault('slow', { delayMs: 1_000 })
  const urls = [...namesOn(slow, 79, 'slow'), quick.at('quick.localhost')]
  const [{ gateway, text }] = await asked({ strategy: 'FastestPing', urls, addresses: ['ar://hello'], timeoutMs: 10_000 })
  assert.deepEqual([gateway, text], [hostsOf(urls).at(-1), textOf(IDS.text)])
  assert.equal(together, 50)
  assert.deepEqual([slow.counters.of('GET'), quick.counters.of('HEAD')], [0, 1])
  const hosts = probedHosts(slow)
  assert.deepEqual(hosts, [...new Set(hosts)])
})

test('in a page, the answer names its gateway, can be cloned, and brings 5 MB as they are', async (t) => {
  const gateway = await startGateway(t)
  const seen = await page.evaluate(async (url) => {
    const { StaticRoutingStrategy, createWayfinderClient } = await import('/kit.js')
    const digestOf = async (body) => {
      const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', body))
      return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    }
    const routingStrategy = new StaticRoutingStrategy({ gateway: url })
    const response = await createWayfinderClient({ routingStrategy }).request('ar://big')
    const bodies = await Promise.all([response.clone(), response].map((each) => each.arrayBuffer()))
    return {
      isChosen: response.gateway === (await routingStrategy.selectGateway()), isResponse: response instanceof Response,
      digests: await Promise.all(bodies.map(digestOf)), told: response.headers.get('x-ar-io-digest'),
      lengths: bodies.map(({ byteLength }) => byteLength),
    }
  }, named([gateway])[0])
  const { body } = CONTENT[IDS.big]
  const digest = digestOf(body)
  assert.deepEqual(seen, {
    isChosen: true, isResponse: true, digests: [digest, digest], told: digest, lengths: [body.length, body.length],
  })
})

for (const [when, fault] of [['before the headers', 'hang'], ['in the middle of a body', 'hangBody']]) {
  test(`in a page, an abort ${when} closes the connection and asks nobody else`, async (t) => {
    const [a, b] = await startGateways(t, 2)
    a.fault(fault)
    const page = await open(t)
    await page.exposeFunction('arrived', () => a.counters.until((seen) => seen.of('GET') === 1).then(() => true))
    const outcome = await page.evaluate(async (urls) => {
      const { createWayfinderClient, makeStrategy, readText } = await import('/kit.js')
      const { request } = createWayfinderClient({ routingStrategy: makeStrategy('Priority', urls) })
      const controller = new AbortController()
      const text = request('ar://hello', { signal: controller.signal }).then(readText).catch((error) => error)
      await window.arrived()
      controller.abort()
      return (await text).name
    }, named([a, b]))
    assert.equal(outcome, 'AbortError')
    await a.counters.until(({ aborted }) => aborted === 1)
    assert.equal(b.counters.total, 0)
  })
}

test('in a page, a frame shows a manifest at its resolved URL, with the parts that it names by relative paths', async (t) => {
  const gateway = await startGateway(t)
  const [url] = named([gateway])
  for (const params of [{ arnsName: 'docs' }, { originalUrl: `ar://${IDS.site}/` }]) {
    await page.evaluate(async ({ url, params }) => {
      const { createWayfinderClient, makeStrategy } = await import('/kit.js')
      const { href } = await createWayfinderClient({ routingStrategy: makeStrategy('Static', [url]) }).resolveUrl(params)
      const frame = document.createElement('iframe')
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      frame.src = href
      document.body.replaceChildren(frame)
      await loaded
    }, { url, params })
    const frame = page.frames().find((each) => each !== page.mainFrame())
    assert.equal(await frame.evaluate(() => getComputedStyle(document.querySelector('h1')).color), 'rgb(0, 128, 128)')
  }
})
