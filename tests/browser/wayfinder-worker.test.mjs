/** The content client where there is less than a page, or more: storage, sandboxed frames, workers, service workers. */

import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { needs, openPage, startBrowser } from '../support/browser.mjs'
import { CONTENT, IDS, startGateway, startGateways } from '../support/gateway.mjs'
import { serveStatic } from '../support/static-server.mjs'

const TEXT = CONTENT[IDS.text].body.toString()
const TEAL = 'rgb(0, 128, 128)'
const PEERS = '/ar-io/peers'

const PAGES = {
  '/': { type: '.html', body: '<!doctype html><title>Waypost</title>' },
  // The client without options but for a `fetch` that finds the trusted gateway on the loopback interface.
  '/default.js': {
    type: '.js',
    body: `
      import { createWayfinderClient } from '/waypost/index.js'
      export const makeDefault = (trusted) => createWayfinderClient({
        fetch: (input, init) => fetch(String(input).replace('https://turbo-gateway.com', trusted), init),
      })
    `,
  },
  '/worker.js': {
    type: '.js',
    body: `
      import { makeDefault } from '/default.js'
      const serve = async ({ trusted, addresses }) => {
        const wayfinder = makeDefault(trusted)
        const texts = []
        for (const address of addresses) texts.push(await (await wayfinder.request(address)).text())
        return { texts, provider: wayfinder.gatewaysProvider.constructor.name, has: [typeof window, typeof localStorage] }
      }
      addEventListener('message', ({ data }) => serve(data).then(postMessage, (error) => postMessage({ error: error.message })))
    `,
  },
  '/sw.js': {
    type: '.js',
    body: `
      import { PriorityRoutingStrategy, StaticGatewaysProvider, createWayfinderClient } from '/waypost/index.js'
      const gateways = new URL(location).searchParams.getAll('gateway')
      const gatewaysProvider = new StaticGatewaysProvider({ gateways })
      const wayfinder = createWayfinderClient({ routingStrategy: new PriorityRoutingStrategy({ gatewaysProvider }) })
      addEventListener('install', () => skipWaiting())
      addEventListener('activate', (event) => event.waitUntil(clients.claim()))
      addEventListener('fetch', (event) => {
        const { pathname, search } = new URL(event.request.url)
        if (!pathname.startsWith('/ar/')) return
        const { signal } = event.request
        event.respondWith(wayfinder.request('ar://' + pathname.slice(4) + search, { signal }))
      })
      addEventListener('message', async ({ data, ports: [port] }) => {
        const { url, gateway } = await wayfinder.request(data)
        port.postMessage({ url, host: gateway.host, has: [typeof window, typeof localStorage] })
      })
    `,
  },
}

// One browser for the file: it takes longer to start than all else together.
const cleanups = []
const hooks = { after: (cleanup) => cleanups.push(cleanup) }
let site
before(async () => {
  const { browser } = await startBrowser(hooks, [])
  const folders = { waypost: dirname(fileURLToPath(import.meta.resolve('waypost'))) }
  site = { browser, origin: await serveStatic(hooks, { folders, pages: PAGES }) }
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

/** A gateway that is trusted, and those that it names as its peers. */
async function startPeers(t) {
  const peers = await startGateways(t, 2)
  const urls = peers.map((peer) => peer.at(`gw-${peer.tag}.localhost`))
  return { trusted: await startGateway(t, { peers: urls }), peers, urls }
}

const served = (peers) => peers.reduce((sum, { counters }) => sum + counters.of('GET'), 0)

test('in a page, the default client asks peers, and their list survives a reload', async (t) => {
  const { trusted, peers, urls } = await startPeers(t)
  const page = await open(t)
  const visit = () => page.evaluate(async (url) => {
    const { LocalStorageGatewaysProvider } = await import('/waypost/index.js')
    const wayfinder = (await import('/default.js')).makeDefault(url)
    const response = await wayfinder.request('ar://hello')
    const { gateways } = JSON.parse(localStorage['wayfinder|gateways'])
    return { text: await response.text(), gateways, isStored: wayfinder.gatewaysProvider instanceof LocalStorageGatewaysProvider }
  }, trusted.url)
  const expected = { text: TEXT, gateways: urls.map((url) => `${url}/`), isStored: true }
  assert.deepEqual(await visit(), expected)
  await page.reload()
  assert.deepEqual(await visit(), expected)
  assert.equal(trusted.counters.of('GET', PEERS), 1)
  assert.equal(trusted.counters.total, 1)
  assert.equal(served(peers), 2)
})

test('in a sandboxed frame without storage, the default client serves', needs('routes'), async (t) => {
  const { trusted, peers } = await startPeers(t)
  const page = await open(t)
  // Such a frame has an origin of its own, to which its page's scripts are foreign.
  await page.route('**/*.js', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, headers: { ...response.headers(), 'access-control-allow-origin': '*' } })
  })
  await page.evaluate(() => {
    const frame = document.createElement('iframe')
    frame.sandbox = 'allow-scripts'
    frame.srcdoc = '<!doctype html><title>sandbox</title>'
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
    document.body.append(frame)
    return loaded
  })
  const frame = page.frames().find((each) => each !== page.mainFrame())
  const seen = await frame.evaluate(async ({ origin, url }) => {
    const attempt = (work) => { try { return typeof work() } catch (error) { return error.name } }
    const wayfinder = (await import(`${origin}/default.js`)).makeDefault(url)
    const texts = []
    for (const address of ['ar://hello', 'ar://hello']) texts.push(await (await wayfinder.request(address)).text())
    return { texts, storage: attempt(() => localStorage) }
  }, { origin: site.origin, url: trusted.url })
  assert.deepEqual(seen, { texts: [TEXT, TEXT], storage: 'SecurityError' })
  assert.equal(trusted.counters.of('GET', PEERS), 1)
  assert.equal(served(peers), 2)
})

test('in a module worker, which has neither window nor storage, the default client serves', async (t) => {
  const { trusted, peers } = await startPeers(t)
  const page = await open(t)
  const seen = await page.evaluate((task) => new Promise((resolve, reject) => {
    const worker = new Worker('/worker.js', { type: 'module' })
    worker.addEventListener('message', ({ data }) => resolve(data))
    worker.addEventListener('error', ({ message }) => reject(new Error(message)))
    worker.postMessage(task)
  }), { trusted: trusted.url, addresses: ['ar://hello', `ar://${IDS.text}`] })
  assert.deepEqual(seen, { texts: [TEXT, TEXT], provider: 'SimpleCacheGatewaysProvider', has: ['undefined', 'undefined'] })
  assert.equal(trusted.counters.of('GET', PEERS), 1)
  assert.equal(served(peers), 2)
})

/** A page whose addresses below /ar/ are served by a service worker from these gateways. */
async function openServed(t, gateways) {
  const page = await open(t)
  const query = new URLSearchParams(gateways.map((gateway) => ['gateway', gateway.at(`gw-${gateway.tag}.localhost`)]))
  await page.evaluate(async (script) => {
    const { serviceWorker } = navigator
    const controlled = new Promise((resolve) => serviceWorker.addEventListener('controllerchange', resolve, { once: true }))
    await serviceWorker.register(script, { type: 'module' })
    await controlled
  }, `/sw.js?${query}`)
  return page
}

test('a service worker answers a page from the gateways, the next one if the first is dead', async (t) => {
  const gateways = await startGateways(t, 2)
  const [a, b] = gateways
  const page = await openServed(t, gateways)
  const fetched = (path) => page.evaluate(async (path) => {
    const response = await fetch(path)
    return { status: response.status, url: response.url, type: response.headers.get('content-type'), text: await response.text() }
  }, path)
  const text = { status: 200, url: `${site.origin}/ar/hello`, type: 'text/plain; charset=utf-8', text: TEXT }
  assert.deepEqual(await fetched('/ar/hello'), text)
  const { status, url } = await fetched('/ar/docs/none?x=1')
  assert.deepEqual([status, url], [200, `${site.origin}/ar/docs/none?x=1`])
  assert.equal(a.counters.targets.at(-1), '/none?x=1')
  // Without the slash at its end the gateway sends it to another address.
  const redirected = await fetched(`/ar/${IDS.site}`)
  assert.deepEqual([redirected.status, redirected.text], [200, CONTENT[IDS.page].body.toString()])
  await a.refuse()
  assert.deepEqual(await fetched('/ar/hello'), text)
  const own = await page.evaluate(() => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = ({ data }) => resolve(data)
    navigator.serviceWorker.controller.postMessage('ar://hello', [port2])
  }))
  const host = `gw-b.localhost:${b.port}`
  assert.deepEqual(own, { url: `http://hello.${host}/`, host, has: ['undefined', 'undefined'] })
  for (const { counters } of gateways) assert.deepEqual(counters.preflights, [])
})

test('through a service worker, a frame shows a manifest with the parts that it names by relative paths', async (t) => {
  const gateway = await startGateway(t)
  const page = await openServed(t, [gateway])
  for (const path of ['/ar/docs/', `/ar/${IDS.site}/`]) {
    await page.evaluate((src) => {
      const frame = document.createElement('iframe')
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      frame.src = src
      document.body.replaceChildren(frame)
      return loaded
    }, path)
    const frame = page.frames().find((each) => each !== page.mainFrame())
    assert.equal(await frame.evaluate(() => getComputedStyle(document.querySelector('h1')).color), TEAL)
  }
  assert.equal(gateway.counters.of('GET', '/a/b.css'), 1)
})

// Before the headers are there, Chromium does not tell a service worker that nobody waits any more.
const LEAVINGS = {
  'the page stops it': (page) => page.evaluate(() => window.controller.abort()),
  'the page is left': (page) => page.goto('about:blank'),
}

for (const [name, leave] of Object.entries(LEAVINGS)) {
  test(`through a service worker, a body streams, and its connection is closed when ${name}`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('hangBody')
    const page = await openServed(t, [gateway])
    const first = await page.evaluate(async () => {
      window.controller = new AbortController()
      const { body } = await fetch('/ar/hello', { signal: window.controller.signal })
      const { value } = await body.getReader().read()
      return new TextDecoder().decode(value)
    })
    assert.ok(first !== '' && TEXT.startsWith(first), `${JSON.stringify(first)} is the beginning`)
    assert.equal(gateway.counters.running, 1)
    await leave(page)
    await gateway.counters.until(({ aborted }) => aborted === 1)
  })
}
