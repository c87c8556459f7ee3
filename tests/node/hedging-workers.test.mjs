/** Second attempts, single flight and the cache in the Workers runtime, with a client that all requests of a Worker share. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { startMocks } from '../support/providers.mjs'
import { startWorker } from '../support/worker.mjs'

const SCRIPT = `
  import { createRpcClient } from 'waypost'
  let rpc
  export default {
    async fetch(request, { PROVIDERS, OPTIONS, CLOSED }) {
      rpc ??= createRpcClient({ providers: PROVIDERS, strategy: 'priority', seed: 1, ...OPTIONS })
      const { pathname } = new URL(request.url)
      if (pathname === '/status') return Response.json({ open: rpc.status().openRequests, inFlight: rpc.status().profiles.default.default.providers.map((each) => each.inFlight) })
      const { response, meta } = await (pathname === '/send'
        ? rpc.send(await request.json())
        : rpc.request(await request.json()).then((result) => ({ response: { result } })))
      // The runtime closes everything at the end of a request: until then only the client can.
      if (pathname === '/send' && CLOSED) await fetch(CLOSED)
      return Response.json({ result: response.result, meta })
    },
  }
`
const WHO = { method: 'web3_clientVersion', params: [] }
const HASH = `0x${'ab'.repeat(32)}`

/** A Worker over `count` providers; `ask` sends it a call, by `request()` or `send()`. */
async function start(t, options, { count = 2, more = () => ({}) } = {}) {
  const proxies = await startMocks(t, count)
  const PROVIDERS = proxies.map(({ url }, priority) => ({ id: 'ab'[priority], url, priority }))
  const bindings = { PROVIDERS, OPTIONS: { attemptTimeoutMs: 20_000, deadlineMs: 30_000, ...options }, ...(await more(proxies)) }
  const { dispatch } = await startWorker(t, { script: SCRIPT, bindings })
  const ask = async (request, { how = '/request', ...init } = {}) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...request })
    const response = await dispatch(how, { method: 'POST', body, ...init })
    return response.json()
  }
  const status = async () => (await dispatch('/status')).json()
  return { proxies, ask, status }
}

/** A server that answers when the first provider has seen its connection closed. */
async function startWitness(t, [{ counters }]) {
  const server = createServer(async (incoming, response) => {
    await counters.until(({ aborted }) => aborted === 1)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { CLOSED: `http://127.0.0.1:${server.address().port}` }
}

const totals = (proxies) => proxies.map(({ counters }) => counters.total)

for (const fault of ['hang', 'hangBody']) {
  test(`in a Worker, a provider with the fault ${fault} loses, and its connection is closed at once`, { timeout: 60_000 }, async (t) => {
    const { proxies, ask, status } = await start(t, { hedge: true }, { more: (all) => startWitness(t, all) })
    proxies[0].fault(fault)
    const { result, meta } = await ask(WHO, { how: '/send' })
    assert.deepEqual([result, meta.selected_provider.id], ['mock/b', 'b'])
    assert.deepEqual(meta.attempts.map(({ provider, outcome }) => [provider, outcome]), [['a', 'abandoned'], ['b', 'success']])
    assert.equal(proxies[0].counters.aborted, 1)
    assert.deepEqual(await status(), { open: 0, inFlight: [0, 0] })
  })
}

test('in a Worker, a slow provider has no company by default', async (t) => {
  const { proxies, ask } = await start(t, {})
  proxies[0].fault('slow', { delayMs: 800 })
  assert.equal((await ask(WHO)).result, 'mock/a')
  assert.deepEqual(totals(proxies), [1, 0])
})

test('in a Worker, requests share no call: the second one does not hang when the first is cancelled', { timeout: 60_000 }, async (t) => {
  const { proxies: [proxy], ask } = await start(t, { singleFlight: true }, { count: 1 })
  proxy.fault('hang', { times: 1 })
  const controller = new AbortController()
  const first = ask(WHO, { signal: controller.signal }).catch(({ name }) => name)
  await proxy.counters.until(({ bodies }) => bodies === 1)
  proxy.fault('slow', { delayMs: 400, times: 1 })
  const second = ask(WHO)
  await proxy.counters.until(({ bodies }) => bodies === 2)
  controller.abort()
  assert.equal(await first, 'AbortError')
  assert.equal((await second).result, 'mock/a')
  assert.equal((await ask(WHO)).result, 'mock/a')
  assert.equal(proxy.counters.total, 3)
})

test('in a Worker, equal requests at once are all answered, each by a call of its own', { timeout: 60_000 }, async (t) => {
  const { proxies: [proxy], ask } = await start(t, { singleFlight: true }, { count: 1 })
  proxy.fault('slow', { delayMs: 200 })
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(WHO)))
  assert.deepEqual(answers.map(({ result }) => result), Array(5).fill('mock/a'))
  assert.equal(proxy.counters.total, 5)
})

test('in a Worker, what cannot change is kept from one request for the next', async (t) => {
  const { proxies: [proxy], ask } = await start(t, { cache: true, singleFlight: true }, { count: 1 })
  for (let call = 0; call < 3; call += 1) assert.equal((await ask({ method: 'eth_chainId' })).result, '0x7a69')
  for (let call = 0; call < 3; call += 1) assert.equal((await ask({ method: 'eth_getTransactionReceipt', params: [HASH] })).result, null)
  assert.deepEqual([proxy.counters.of('eth_chainId'), proxy.counters.of('eth_getTransactionReceipt')], [1, 3])
})
