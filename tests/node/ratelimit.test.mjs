import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock, openClient, providerStatus, rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }
const hits = (proxies) => proxies.map(({ counters }) => counters.total)
const inSeconds = (seconds) => new Date(Date.now() + seconds * 1000).toUTCString()

// The wait that each form asks for, in seconds; 30 is the default.
const FORMS = {
  '429 with Retry-After in seconds': [['rateLimited', { retryAfter: 30 }], 30],
  '429 with Retry-After as a date': [['rateLimited', { retryAfter: inSeconds(120) }], 120],
  '429 without Retry-After': [['rateLimited', {}], 30],
  '429 with an unreadable Retry-After': [['rateLimited', { retryAfter: 'soon' }], 30],
  '429 with a Retry-After of an hour, which is cut to five minutes': [['rateLimited', { retryAfter: 3600 }], 300],
  '429 with a JSON-RPC error of another code': [
    ['rateLimited', { retryAfter: 20, body: { jsonrpc: '2.0', id: 1, error: { code: -32011, message: 'request limit reached' } } }], 20,
  ],
  '200 with a JSON-RPC limit error': [['rpcError', { code: -32005, message: 'project ID request rate exceeded' }], 30],
  '200 with a JSON-RPC limit error that names the wait': [
    ['rpcError', { code: -32005, message: 'project ID request rate exceeded', data: { rate: { backoff_seconds: 45 } } }], 45,
  ],
}

for (const [form, [[fault, options], seconds]] of Object.entries(FORMS)) {
  test(`${form}: asked once until the wait is over, never counted as a failure`, async (t) => {
    const proxies = await startMocks(t, 2)
    const clock = fakeClock()
    proxies[0].fault(fault, options)
    const rpc = openClient(t, proxies, { now: clock.now })
    for (let call = 0; call < 20; call += 1) assert.equal(await rpc.request(WHO), 'mock/b')
    assert.deepEqual(hits(proxies), [1, 20])
    const { circuit, limitedForMs } = providerStatus(rpc, 'a')
    assert.equal(circuit, 'closed')
    // A date has whole seconds, and the answer's own date may lie in the next one.
    assert.ok(Math.abs(limitedForMs - seconds * 1000) <= 2_000, `limited for ${limitedForMs} ms`)
    clock.ms += limitedForMs - 1
    await rpc.request(WHO)
    assert.equal(proxies[0].counters.total, 1)
    proxies[0].heal()
    clock.ms += 2
    assert.equal(await rpc.request(WHO), 'mock/a')
  })
}

test('Retry-After 0 means no wait', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('rateLimited', { retryAfter: 0, times: 1 })
  const rpc = openClient(t, proxies)
  assert.equal(await rpc.request(WHO), 'mock/b')
  assert.equal(await rpc.request(WHO), 'mock/a')
})

test('a wait that the deadline does not allow is an error at once, which names the wait', { timeout: 20_000 }, async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('rateLimited', { retryAfter: 200 })
  const rpc = openClient(t, [proxy], { deadlineMs: 60_000 })
  for (let call = 0; call < 3; call += 1) {
    const error = await rejection(rpc.request(WHO))
    assert.ok(error.retryAfterMs > 190_000 && error.retryAfterMs <= 200_000, `${error.retryAfterMs}`)
  }
  assert.equal((await rejection(rpc.request(WHO))).reason, 'rate_limited')
  assert.equal(proxy.counters.total, 1)
})

test('a wait that the deadline allows is waited for', async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('rateLimited', { retryAfter: 1, times: 1 })
  assert.equal(await openClient(t, [proxy], { deadlineMs: 8_000 }).request(WHO), 'mock/a')
  assert.equal(proxy.counters.total, 2)
})

test('fifty calls at once: calls made after the first 429 do not reach the limited provider', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('rateLimited', { retryAfter: 30 })
  const rpc = openClient(t, proxies)
  await Promise.all(Array.from({ length: 50 }, () => rpc.request(WHO)))
  const during = proxies[0].counters.total
  assert.ok(during <= 50)
  await Promise.all(Array.from({ length: 50 }, () => rpc.request(WHO)))
  assert.equal(proxies[0].counters.total, during)
})

test('URLs of one quota group share the limit, URLs of other groups do not', async (t) => {
  const proxies = await startMocks(t, 3)
  proxies[0].fault('rateLimited', { retryAfter: 30 })
  const providers = proxies.map(({ url }, index) => ({
    id: 'abc'[index], url, priority: index, quotaGroup: index < 2 ? 'shared' : 'own',
  }))
  const rpc = openClient(t, [], { providers })
  assert.equal(await rpc.request(WHO), 'mock/c')
  assert.deepEqual(hits(proxies), [1, 0, 1])
  assert.ok(providerStatus(rpc, 'b').limitedForMs > 0)
})

test('a configured limit is kept before sending', async (t) => {
  const proxies = await startMocks(t, 2)
  const clock = fakeClock()
  const providers = proxies.map(({ url }, index) => ({
    id: 'ab'[index], url, priority: index, ...(index === 0 && { rateLimit: { rps: 1, burst: 3 } }),
  }))
  const rpc = openClient(t, [], { providers, now: clock.now })
  for (let call = 0; call < 10; call += 1) await rpc.request(WHO)
  assert.deepEqual(hits(proxies), [3, 7])
  clock.ms += 1_000
  for (let call = 0; call < 4; call += 1) await rpc.request(WHO)
  assert.deepEqual(hits(proxies), [4, 10])
})
