/** Second attempts beside slow ones, through real sockets. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { createRpcClient, createRpcHandler } from 'waypost'
import { fakeClock, openClient, rejection } from '../support/client.mjs'
import { forbidUnhandled } from '../support/fake-gateways.mjs'
import { startMocks } from '../support/providers.mjs'

forbidUnhandled(after)

const WHO = { method: 'web3_clientVersion', params: [] }
const HASH = `0x${'ab'.repeat(32)}`
const RECEIPT = { transactionHash: HASH, blockHash: `0x${'cd'.repeat(32)}`, status: '0x1' }
const LOOKUP = { method: 'eth_getTransactionReceipt', params: [HASH] }
const envelope = (request) => ({ jsonrpc: '2.0', id: 7, ...request })
const totals = (proxies) => proxies.map(({ counters }) => counters.total)

/** Lets the client measure every provider at its quickest; nothing of it is counted. */
async function warm(rpc, proxies, request = WHO) {
  for (const [index] of proxies.entries()) {
    for (let call = 0; call < 12; call += 1) await rpc.request(request, { provider: 'abc'[index] })
  }
  for (const { counters } of proxies) counters.reset()
}

/** A client whose providers a, b, c are asked in this order and have been measured. */
async function openWarm(t, count, options = {}, request = WHO) {
  const proxies = await startMocks(t, count)
  const rpc = openClient(t, proxies, { hedge: true, attemptTimeoutMs: 20_000, deadlineMs: 30_000, ...options })
  await warm(rpc, proxies, request)
  return { rpc, proxies }
}

const aborted = ({ counters }) => counters.until((seen) => seen.aborted === 1)

for (const [what, options] of [['nothing is said', { hedge: undefined }], ['hedge is false', { hedge: false }]]) {
  test(`a slow provider has no company while ${what}`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 2, options)
    proxies[0].fault('slow', { delayMs: 200 })
    assert.equal(await rpc.request(WHO), 'mock/a')
    assert.deepEqual(totals(proxies), [1, 0])
  })
}

for (const fault of ['hang', 'hangBody']) {
  test(`a provider with the fault ${fault} loses against the next one, and its connection is closed`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 2)
    proxies[0].fault(fault)
    const seen = { attempt: [], request: [] }
    for (const name of Object.keys(seen)) rpc.on(name, (event) => seen[name].push(event))
    const { response, meta } = await rpc.send(envelope(WHO))
    assert.equal(response.result, 'mock/b')
    assert.equal(meta.selected_provider.id, 'b')
    assert.equal(meta.retries, 1)
    const story = (records) => records.map(({ provider, outcome, class: word }) => [provider, outcome, word])
    assert.deepEqual(story(meta.attempts), [['a', 'abandoned', 'abort'], ['b', 'success', undefined]])
    assert.deepEqual(story(seen.attempt).toSorted(), [['a', 'abandoned', 'abort'], ['b', 'success', undefined]])
    assert.deepEqual(seen.request.map(({ provider, outcome }) => [provider, outcome]), [['b', 'success']])
    assert.deepEqual(story(seen.request[0].attempts), story(meta.attempts))
    await aborted(proxies[0])
    assert.deepEqual(totals(proxies), [1, 1])
    const [{ inFlight, circuit }] = rpc.status().profiles.default.default.providers
    assert.deepEqual({ inFlight, circuit, open: rpc.status().openRequests }, { inFlight: 0, circuit: 'closed', open: 0 })
  })
}

test('the first attempt wins if it is the first to answer, and the second one is stopped', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2)
  proxies[0].fault('slow', { delayMs: 300 })
  proxies[1].fault('hang')
  const { response, meta } = await rpc.send(envelope(WHO))
  assert.deepEqual([response.result, meta.selected_provider.id], ['mock/a', 'a'])
  assert.deepEqual(meta.attempts.map(({ outcome }) => outcome), ['success', 'abandoned'])
  await aborted(proxies[1])
})

test('a second attempt that fails does not win', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2)
  proxies[0].fault('slow', { delayMs: 300 })
  proxies[1].fault('status', { status: 503 })
  const { response, meta } = await rpc.send(envelope(WHO))
  assert.deepEqual([response.result, meta.selected_provider.id], ['mock/a', 'a'])
  assert.equal(proxies[1].counters.total, 1)
})

/** Milliseconds after which a client would start a second attempt, by a clock that each answer moves by one of `latencies`. */
async function delayOf(t, hedge, latencies) {
  const clock = fakeClock()
  let isSlow = false
  let calls = 0
  const fetch = async (url, { body, signal }) => {
    if (isSlow) return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    clock.ms += latencies[calls++ % latencies.length]
    return Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' })
  }
  const options = { seed: 1, strategy: 'priority', hedge, fetch, now: clock.now, attemptTimeoutMs: 60_000, deadlineMs: 80_000 }
  const rpc = createRpcClient({ providers: [{ id: 'a', url: 'https://a.test', priority: 1 }, { id: 'b', url: 'https://b.test' }], ...options })
  for (let call = 0; call < 300; call += 1) await rpc.request({ method: 'eth_call' }, { provider: 'a' })
  isSlow = true
  const timers = t.mock.method(globalThis, 'setTimeout')
  const controller = new AbortController()
  const call = rejection(rpc.request({ method: 'eth_call' }, { signal: controller.signal }))
  const delays = timers.mock.calls.map(({ arguments: [, ms] }) => ms)
  timers.mock.restore()
  const { methods } = rpc.status().profiles.default.default.providers[0]
  const { p95Ms } = methods.find(({ method }) => method === 'eth_call')
  controller.abort()
  await call
  rpc.dispose()
  return { delay: Math.min(...delays), p95Ms }
}

const SPREAD = [80, 90, 95, 100, 105, 110, 120, 130, 100, 90, 100, 110, 95, 105, 100, 90, 115, 85, 100, 200]

test('the second attempt comes at about the p95 that was measured, and later for a larger quantile', async (t) => {
  for (const factor of [1, 10]) {
    const latencies = SPREAD.map((ms) => ms * factor)
    const { delay, p95Ms } = await delayOf(t, true, latencies)
    assert.ok(p95Ms > 100 * factor, `${p95Ms}`)
    assert.ok(delay > p95Ms * 0.6 && delay < p95Ms * 1.8, `${delay} ms, p95 ${p95Ms} ms`)
    const delays = []
    for (const quantile of [0.5, 0.8, 0.95, 0.999]) delays.push((await delayOf(t, { quantile }, latencies)).delay)
    assert.deepEqual(delays, delays.toSorted((x, y) => x - y))
    assert.equal(new Set(delays).size, delays.length, `${delays}`)
    assert.ok(delays[0] > 80 * factor && delays[0] < 120 * factor, `the median: ${delays[0]}`)
  }
})

/** Second attempts among `count` requests of which half have to wait until somebody else answers. */
async function extraOf(hedge, count) {
  const asked = { a: 0, b: 0 }
  const wait = (ms, signal) => new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
  const fetch = async (url, { body, signal }) => {
    const { host } = new URL(url)
    const number = (asked[host[0]] += 1)
    if (host[0] === 'a' && number % 2 === 0) await wait(60, signal)
    return Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' })
  }
  const providers = [{ id: 'a', url: 'https://a.test', priority: 1 }, { id: 'b', url: 'https://b.test', priority: 2 }]
  const rpc = createRpcClient({ providers, strategy: 'priority', seed: 1, hedge, fetch, deadlineMs: 30_000, attemptTimeoutMs: 20_000 })
  const work = async () => {
    for (let call = 0; call < count / 50; call += 1) await rpc.request({ method: 'eth_call' })
  }
  await Promise.all(Array.from({ length: 50 }, work))
  rpc.dispose()
  return asked.b
}

test('second attempts keep to their budget, however many requests are slow', async () => {
  const SAVED = 20
  const usual = await extraOf({ quantile: 0.5 }, 1_000)
  assert.ok(usual > 0 && usual <= SAVED + 50, `${usual} of 1000`)
  const large = await extraOf({ quantile: 0.5, budget: 1 }, 1_000)
  assert.ok(large > SAVED + 50, `${large} of 1000 with a budget for all`)
})

for (const method of ['eth_sendTransaction', 'eth_sendRawTransaction', 'personal_sign', 'eth_newBlockFilter', 'vendor_anything']) {
  test(`${method} has no second attempt`, async (t) => {
    const request = { method, params: ['0x01'] }
    const { rpc, proxies } = await openWarm(t, 2, {}, request)
    proxies[0].fault('slow', { delayMs: 250 })
    await rpc.request(request)
    assert.deepEqual(totals(proxies), [1, 0])
  })
}

test('only the methods that are named have second attempts', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2, { hedge: { methods: ['eth_gasPrice'] } })
  await warm(rpc, proxies, { method: 'eth_gasPrice' })
  proxies[0].fault('slow', { delayMs: 250 })
  assert.equal(await rpc.request(WHO), 'mock/a')
  assert.deepEqual(totals(proxies), [1, 0])
  proxies[0].heal().fault('hang')
  assert.equal(await rpc.request({ method: 'eth_gasPrice' }), '0x1')
  assert.deepEqual(totals(proxies), [2, 1])
})

test('naming a method that may not be repeated does not give it second attempts', async (t) => {
  const request = { method: 'eth_sendTransaction', params: [{}] }
  const { rpc, proxies } = await openWarm(t, 2, { hedge: { methods: ['eth_sendTransaction'] } }, request)
  proxies[0].fault('slow', { delayMs: 250 })
  await rpc.request(request)
  assert.deepEqual(totals(proxies), [1, 0])
})

test('a raw transaction that is named is sent to a second provider', async (t) => {
  const proxies = await startMocks(t, 2, { eth_sendRawTransaction: HASH })
  const rpc = openClient(t, proxies, { hedge: { methods: ['eth_sendRawTransaction'] }, attemptTimeoutMs: 20_000, deadlineMs: 30_000 })
  proxies[0].fault('hang')
  assert.equal(await rpc.request({ method: 'eth_sendRawTransaction', params: ['0x02'] }), HASH)
  assert.deepEqual(totals(proxies), [1, 1])
  await aborted(proxies[0])
})

/** Three providers: a and b at one origin, c at another. */
async function sameOrigin(t, count) {
  const proxies = await startMocks(t, 2)
  const [first, other] = proxies
  const all = [['a', `${first.url}/one`], ['b', `${first.url}/two`], ['c', other.url]]
  const providers = all.slice(0, count).map(([id, url], priority) => ({ id, url, priority }))
  const rpc = createRpcClient({ providers, strategy: 'priority', seed: 1, hedge: true, attemptTimeoutMs: 20_000, deadlineMs: 30_000 })
  t.after(() => rpc.dispose())
  await warm(rpc, providers.map(() => first))
  other.counters.reset()
  return { rpc, first, other }
}

test('the second attempt goes to another origin', async (t) => {
  const { rpc, first, other } = await sameOrigin(t, 3)
  first.fault('hang')
  assert.equal(await rpc.request(WHO), 'mock/b')
  assert.deepEqual([first.counters.targets, other.counters.total], [['/one'], 1])
})

test('there is no second attempt if all providers are at one origin', async (t) => {
  const { rpc, first } = await sameOrigin(t, 2)
  first.fault('slow', { delayMs: 250 })
  assert.equal(await rpc.request(WHO), 'mock/a')
  assert.deepEqual(first.counters.targets, ['/one'])
})

const NULLABLE = [
  LOOKUP,
  { method: 'eth_getBlockByNumber', params: ['0x10', false] },
  { method: 'eth_getBlockByHash', params: [HASH, false] },
  { method: 'eth_getTransactionByHash', params: [HASH] },
]
for (const request of NULLABLE) {
  const { method } = request
  test(`${method}: null does not win against an answer that is under way`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 2, {}, request)
    proxies[0].fault('slow', { delayMs: 300 }).fault('result', { result: RECEIPT })
    const { response, meta } = await rpc.send(envelope(request))
    assert.deepEqual([response.result, meta.selected_provider.id], [RECEIPT, 'a'])
    assert.deepEqual(totals(proxies), [1, 1])
  })

  test(`${method}: null is the answer if both say so`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 2, {}, request)
    proxies[0].fault('slow', { delayMs: 200 })
    assert.equal(await rpc.request(request), null)
    assert.deepEqual(totals(proxies), [1, 1])
  })
}

for (const [mode, expected] of [['raw', JSON.stringify(RECEIPT)], ['bigint', RECEIPT]]) {
  test(`null does not win when results are read as ${mode}`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 2, { parse: mode }, LOOKUP)
    proxies[0].fault('slow', { delayMs: 300 }).fault('result', { result: RECEIPT })
    assert.deepEqual(await rpc.request(LOOKUP), expected)
    assert.deepEqual(totals(proxies), [1, 1])
  })
}

test('null is the answer if the other attempt fails or never ends', async (t) => {
  for (const [fault, options] of [['hang', { deadlineMs: 700 }], ['hang', { attemptTimeoutMs: 500 }], ['reset', {}]]) {
    const { rpc, proxies } = await openWarm(t, 2, options, LOOKUP)
    proxies[0].fault(fault)
    assert.equal(await rpc.request(LOOKUP), null, `${fault} ${JSON.stringify(options)}`)
  }
})

test('null wins at once where it cannot mean that somebody is behind', async (t) => {
  const request = { method: 'eth_getStorageAt', params: [HASH, '0x0'] }
  const { rpc, proxies } = await openWarm(t, 2, {}, request)
  proxies[0].fault('hang')
  const { response, meta } = await rpc.send(envelope(request))
  assert.deepEqual([response.result, meta.selected_provider.id], [null, 'b'])
  await aborted(proxies[0])
})

test('a null that comes alone is the answer: nobody else is asked', async (t) => {
  const proxies = await startMocks(t, 2)
  const rpc = openClient(t, proxies, { hedge: true })
  assert.equal(await rpc.request(LOOKUP), null)
  assert.deepEqual(totals(proxies), [1, 0])
})

test('whoever names a provider hears that one only', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2)
  proxies[0].fault('slow', { delayMs: 250 })
  assert.equal(await rpc.request(WHO, { provider: 'a' }), 'mock/a')
  assert.deepEqual(totals(proxies), [1, 0])
})

for (const [maxExtra, expected] of [[1, [1, 1, 0]], [2, [1, 1, 1]]]) {
  test(`maxExtra ${maxExtra} bounds the second attempts of one request`, async (t) => {
    const { rpc, proxies } = await openWarm(t, 3, { hedge: { maxExtra, budget: 1 } })
    proxies[0].fault('slow', { delayMs: 500 })
    proxies[1].fault('hang')
    assert.equal(await rpc.request(WHO), maxExtra === 1 ? 'mock/a' : 'mock/c')
    assert.deepEqual(totals(proxies), expected)
    await aborted(proxies[1])
  })
}

/** A call of a client, both of whose providers hang and have been asked. */
async function stuck(t, own) {
  const { rpc, proxies } = await openWarm(t, 2)
  for (const proxy of proxies) proxy.fault('hang')
  const error = rejection(rpc.request(WHO, own))
  await Promise.all(proxies.map(({ counters }) => counters.until(({ total }) => total === 1)))
  return { rpc, proxies, error }
}

test('the deadline stops both attempts', async (t) => {
  const { proxies, error } = await stuck(t, { deadlineMs: 400 })
  const { name, reason, attempts } = await error
  assert.deepEqual([name, reason], ['WaypostError', 'deadline'])
  assert.deepEqual(attempts.map(({ provider }) => provider), ['a', 'b'])
  await Promise.all(proxies.map(aborted))
})

test("the caller's abort stops both attempts", async (t) => {
  const controller = new AbortController()
  const { rpc, proxies, error } = await stuck(t, { signal: controller.signal })
  controller.abort(new Error('enough'))
  const { name, cause } = await error
  assert.deepEqual([name, cause.message], ['AbortError', 'enough'])
  await Promise.all(proxies.map(aborted))
  assert.equal(rpc.status().openRequests, 0)
  assert.deepEqual(rpc.status().profiles.default.default.providers.map(({ inFlight }) => inFlight), [0, 0])
})

test('dispose stops both attempts', async (t) => {
  const { rpc, proxies, error } = await stuck(t, {})
  rpc.dispose()
  assert.equal((await error).name, 'AbortError')
  await Promise.all(proxies.map(aborted))
})

test('each profile decides for itself', async (t) => {
  const proxies = await startMocks(t, 2)
  const chains = { ethereum: { providers: proxies.map(({ url }, priority) => ({ id: 'ab'[priority], url, priority })) } }
  const common = { strategy: 'priority', chains, attemptTimeoutMs: 20_000, deadlineMs: 30_000 }
  const rpc = createRpcClient({ seed: 1, profiles: { default: common, hedged: { ...common, hedge: true } } })
  t.after(() => rpc.dispose())
  proxies[0].fault('slow', { delayMs: 900 })
  assert.equal(await rpc.request(WHO), 'mock/a')
  assert.equal(await rpc.request(WHO, { profile: 'hedged' }), 'mock/b')
})

/** Asks a handler over the client, and answers with the envelope. */
async function viaHandler(rpc, request) {
  const { fetch } = createRpcHandler(rpc)
  const body = JSON.stringify(envelope(request))
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(new Request('https://edge.test/rpc/default?include_meta=body', { method: 'POST', headers, body }))
  return response.json()
}

test('behind the HTTP endpoint a hung provider has company, and its connection is closed', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2)
  proxies[0].fault('hang')
  const { result, lasso_meta: meta } = await viaHandler(rpc, WHO)
  assert.deepEqual([result, meta.selected_provider.id], ['mock/b', 'b'])
  await aborted(proxies[0])
})

test('behind the HTTP endpoint null does not win against a receipt that is under way', async (t) => {
  const { rpc, proxies } = await openWarm(t, 2, {}, LOOKUP)
  proxies[0].fault('slow', { delayMs: 300 }).fault('result', { result: RECEIPT })
  const { result } = await viaHandler(rpc, LOOKUP)
  assert.deepEqual(result, RECEIPT)
  assert.deepEqual(totals(proxies), [1, 1])
})

const WRONG = [
  ['yes', /hedge.*"yes"/], [1, /hedge/], [null, /hedge/],
  [{ quantile: 0.4 }, /hedge\.quantile.*0\.4.*0\.5.*0\.999|hedge\.quantile.*0\.5.*0\.999.*0\.4/],
  [{ quantile: 1 }, /hedge\.quantile.*0\.999/], [{ quantile: NaN }, /hedge\.quantile/], [{ quantile: '0.9' }, /hedge\.quantile/],
  [{ budget: -0.1 }, /hedge\.budget.*0.*1/], [{ budget: 1.01 }, /hedge\.budget.*0.*1/],
  [{ maxExtra: 0 }, /hedge\.maxExtra.*1.*3/], [{ maxExtra: 4 }, /hedge\.maxExtra.*1.*3/],
  [{ methods: 'eth_call' }, /hedge\.methods/], [{ methods: [''] }, /hedge\.methods/], [{ methods: [7] }, /hedge\.methods/],
  [{ quantil: 0.9 }, /hedge.*quantil/],
]
test('wrong options are refused with their path and what is allowed', () => {
  for (const [hedge, message] of WRONG) {
    const make = () => createRpcClient({ providers: ['https://a.test'], hedge })
    assert.throws(make, { name: 'WaypostError', reason: 'invalid_option', message }, JSON.stringify(hedge))
  }
  const inProfile = () => createRpcClient({ profiles: { p: { hedge: { budget: 2 }, chains: { x: { providers: ['https://a.test'] } } } } })
  assert.throws(inProfile, { reason: 'invalid_option', message: /profiles\.p\.hedge\.budget/ })
})
