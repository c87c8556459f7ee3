import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { createRpcClient } from 'waypost'
import { rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const KEYS = ['pathK3y', 'queryK3y', 'headerK3y', 'passK3y']
const [PATH, QUERY, HEADER, PASSWORD] = KEYS
const EVENTS = ['attempt', 'request', 'circuit', 'ratelimit']

const providersWithKeys = (proxies) => proxies.map(({ url }) => {
  const secret = new URL(`/v3/${PATH}?apikey=${QUERY}`, url)
  secret.username = 'user'
  secret.password = PASSWORD
  return { url: secret.href, headers: { 'x-api-key': HEADER } }
})

/** Everything that a log could hold of a value, hidden properties and causes included. */
const textOf = (value) => [
  JSON.stringify(value), inspect(value, { depth: Infinity, showHidden: true }), value?.stack, value?.message,
].join('\n')

const encoded = btoa(`user:${PASSWORD}`)
function assertNoKeys(what, value) {
  const text = textOf(value)
  for (const key of [...KEYS, encoded]) assert.ok(!text.includes(key), `${what} holds ${key}: ${text}`)
}

function watch(rpc) {
  const events = []
  for (const name of EVENTS) rpc.on(name, (event) => events.push({ name, event }))
  return events
}

const FAULTS = {
  'a refused connection': (proxy) => proxy.refuse(),
  'a reset connection': (proxy) => proxy.fault('reset'),
  'a refused key': (proxy) => proxy.fault('status', { status: 401, body: `invalid key ${PATH}` }),
  'a missing page that repeats its address': (proxy) =>
    proxy.fault('status', { status: 404, body: `no such page: /v3/${PATH}?apikey=${QUERY}` }),
  'a limit': (proxy) => proxy.fault('rateLimited', { retryAfter: 100, body: `key ${QUERY} is over its quota` }),
  'a time-out': (proxy) => proxy.fault('hang'),
}

for (const [what, breakIt] of Object.entries(FAULTS)) {
  test(`keys in paths, queries, headers and credentials are in no error, event or metadata after ${what}`, async (t) => {
    const proxies = await startMocks(t, 2)
    const rpc = createRpcClient({ providers: providersWithKeys(proxies), deadlineMs: 500 })
    t.after(() => rpc.dispose())
    const events = watch(rpc)
    await Promise.all(proxies.map(breakIt))
    for (let call = 0; call < 8; call += 1) {
      assertNoKeys('the error', await rejection(rpc.request({ method: 'eth_chainId' })))
    }
    assertNoKeys('the answer', await rpc.send({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' }))
    assert.ok(events.length > 0)
    assertNoKeys('an event', events)
    assertNoKeys('the status', rpc.status())
    assertNoKeys('the explanation', rpc.explain({ method: 'eth_chainId' }))
    assertNoKeys('the state', rpc.exportState())
    assertNoKeys('the client', rpc)
  })
}

test('keys reach the provider they belong to, and the metadata of a good answer holds none', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const rpc = createRpcClient({ providers: providersWithKeys([proxy]) })
  t.after(() => rpc.dispose())
  const { meta } = await rpc.send({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
  const [headers] = proxy.counters.headers
  assert.equal(proxy.counters.targets[0], `/v3/${PATH}?apikey=${QUERY}`)
  assert.equal(headers['x-api-key'], HEADER)
  assert.equal(headers.authorization, `Basic ${encoded}`)
  assertNoKeys('the metadata', meta)
})

test('a fetch error that repeats the address does not pass it on', async () => {
  const url = `http://127.0.0.1:1/${PATH}`
  const rpc = createRpcClient({
    providers: [url],
    fetch: () => Promise.reject(new TypeError(`failed to fetch ${url}`, { cause: new Error(url) })),
    deadlineMs: 500,
  })
  const events = watch(rpc)
  assertNoKeys('the error', await rejection(rpc.request({ method: 'eth_chainId' })))
  assertNoKeys('an event', events)
  rpc.dispose()
})

test('a refused option does not repeat the address it was given', () => {
  for (const url of [`ftp://host/${PATH}`, `http://user:${PASSWORD}@`, `/v3/${PATH}`, `http://[${PATH}`]) {
    assert.throws(() => createRpcClient({ providers: [{ id: 'a', url }] }), (error) => {
      assertNoKeys('the error', error)
      return true
    })
  }
})
