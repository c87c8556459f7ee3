import assert from 'node:assert/strict'
import test from 'node:test'
import { createRpcClient } from 'waypost'
import { aheadClock, openClient, providerStatus, rejection } from '../support/client.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }
const hits = (proxies) => proxies.map(({ counters }) => counters.total)

const BROKEN = {
  'refuses connections': (proxy) => proxy.refuse(),
  'resets connections': (proxy) => proxy.fault('reset'),
  'answers 401': (proxy) => proxy.fault('status', { status: 401, body: 'invalid project id' }),
  'answers 403 with JSON': (proxy) => proxy.fault('status', { status: 403, body: '{"message":"forbidden"}' }),
  'answers 500': (proxy) => proxy.fault('status', { status: 500 }),
  'answers 503 with HTML': (proxy) => proxy.fault('status', { status: 503, body: '<html></html>' }),
  'answers 200 with HTML': (proxy) => proxy.fault('html'),
  'answers 200 with plain text': (proxy) => proxy.fault('status', { status: 200, body: 'OK' }),
  'answers 200 with nothing': (proxy) => proxy.fault('empty'),
  'answers 200 with half an answer': (proxy) => proxy.fault('truncated'),
  'answers with the wrong id': (proxy) => proxy.fault('wrongId'),
  'answers with neither result nor error': (proxy) => proxy.fault('status', { status: 200, body: '{"jsonrpc":"2.0","id":1}' }),
  'answers with a list': (proxy) => proxy.fault('status', { status: 200, body: '[]' }),
  'answers with null': (proxy) => proxy.fault('status', { status: 200, body: 'null' }),
  'never answers': (proxy) => proxy.fault('hang'),
  'stalls in the middle of its answer': (proxy) => proxy.fault('hangBody'),
}

for (const [what, breakIt] of Object.entries(BROKEN)) {
  test(`the next provider answers when the first one ${what}`, async (t) => {
    const proxies = await startMocks(t, 2)
    await breakIt(proxies[0])
    const rpc = openClient(t, proxies, { attemptTimeoutMs: 150 })
    assert.equal(await rpc.request(WHO), 'mock/b')
    assert.equal(proxies[1].counters.total, 1)
  })

  test(`a provider that always ${what} is left alone after a few calls`, async (t) => {
    const proxies = await startMocks(t, 2)
    await breakIt(proxies[0])
    const rpc = openClient(t, proxies, { attemptTimeoutMs: 100 })
    for (let call = 0; call < 20; call += 1) assert.equal(await rpc.request(WHO), 'mock/b')
    assert.equal(providerStatus(rpc, 'a').circuit, 'open')
    assert.ok(proxies[0].counters.total <= 5, `${proxies[0].counters.total} hits`)
  })
}

test('nobody else is asked while the first provider answers in time', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('slow', { delayMs: 60 })
  const rpc = openClient(t, proxies)
  for (let call = 0; call < 5; call += 1) assert.equal(await rpc.request(WHO), 'mock/a')
  assert.deepEqual(hits(proxies), [5, 0])
})

test('a provider that cannot even tell its chain id is skipped, not fatal', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('status', { method: 'eth_chainId', status: 503 })
  const rpc = openClient(t, proxies)
  assert.equal(await rpc.request({ method: 'eth_chainId' }), '0x7a69')
  assert.equal(await rpc.request(WHO), 'mock/a')
})

for (const strategy of ['load_balanced', 'fastest', 'latency_weighted', 'priority']) {
  test(`${strategy} works with a single provider, which is tried again half a minute after an outage at the latest`, async (t) => {
    const [proxy] = await startMocks(t, 1)
    const clock = aheadClock()
    const rpc = openClient(t, [proxy], { strategy, now: clock.now, deadlineMs: 300 })
    assert.equal(await rpc.request(WHO), 'mock/a')
    proxy.fault('status', { status: 500 })
    for (let call = 0; call < 30; call += 1) {
      await rejection(rpc.request(WHO))
      clock.aheadMs += 31_000
    }
    proxy.heal()
    assert.equal(await rpc.request(WHO), 'mock/a')
  })
}

test('a client that is only made, or idle, asks nothing', async (t) => {
  const proxies = await startMocks(t, 2)
  await proxies[0].refuse()
  const rpc = openClient(t, proxies)
  rpc.status()
  rpc.explain({ method: 'eth_blockNumber' })
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(hits(proxies), [0, 0])
  assert.equal(await rpc.request(WHO), 'mock/b')
})

test('no probes run beside traffic: providers see the calls that were made and no others', async (t) => {
  const proxies = await startMocks(t, 3)
  const rpc = openClient(t, proxies, { strategy: 'load_balanced' })
  for (let call = 0; call < 60; call += 1) await rpc.request(WHO)
  assert.equal(hits(proxies).reduce((sum, count) => sum + count), 60)
  for (const { counters } of proxies) assert.deepEqual(Object.keys(counters.hits), ['web3_clientVersion'])
})

test('a provider named by the call is used alone, and only told otherwise others answer for it', async (t) => {
  const proxies = await startMocks(t, 2)
  const rpc = openClient(t, proxies)
  assert.equal(await rpc.request(WHO, { provider: 'b' }), 'mock/b')
  proxies[1].fault('status', { status: 500 })
  const error = await rejection(rpc.request(WHO, { provider: 'b' }))
  assert.deepEqual([...new Set(error.attempts.map(({ provider }) => provider))], ['b'])
  assert.equal(proxies[0].counters.total, 0)
  assert.equal(await rpc.request(WHO, { provider: 'b', failoverOnOverride: true }), 'mock/a')
})

test('names that do not exist are refused with the names that do', async (t) => {
  const proxies = await startMocks(t, 2)
  const rpc = openClient(t, proxies)
  for (const [options, known] of [
    [{ provider: 'z' }, /\ba\b.*\bb\b/],
    [{ strategy: 'fastes' }, /fastest/],
    [{ profile: 'prod' }, /default/],
    [{ chain: 'goerli' }, /\w/],
    [{ deadlinMs: 5 }, /deadlineMs/],
  ]) {
    const error = await rejection(rpc.request(WHO, options))
    assert.equal(error.code, -32602)
    assert.match(error.message, known)
    assert.match(error.message, new RegExp(Object.values(options)[0] === 5 ? 'deadlinMs' : Object.values(options)[0]))
  }
  assert.deepEqual(hits(proxies), [0, 0])
  assert.throws(() => createRpcClient({ providers: providersOf(proxies), stratgy: 'fastest' }), /strategy/)
})
