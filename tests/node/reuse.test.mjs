/** Single flight, and the cache of answers that cannot change. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { createRpcClient } from 'waypost'
import { fakeClock, openClient, rejection } from '../support/client.mjs'
import { forbidUnhandled, settle } from '../support/fake-gateways.mjs'
import { startMocks } from '../support/providers.mjs'

forbidUnhandled(after)

const HASH = `0x${'ab'.repeat(32)}`
const BLOCK = `0x${'cd'.repeat(32)}`
const CALL = { method: 'eth_call', params: [{ to: '0x01', data: '0x02' }, 'latest'] }

/**
 * A client over two providers that answer when the test says so: `calls` has an entry for every request that was sent,
 * with `answer(result)`, `refuse(error)` and the `signal`.
 */
function openGated(t, options = {}) {
  const calls = []
  const fetch = (url, { body, signal }) =>
    new Promise((resolve, reject) => {
      const { id, method, params } = JSON.parse(body)
      const reply = (rest) => resolve(new Response(`{"jsonrpc":"2.0","id":${id},${rest}}`))
      const call = {
        host: new URL(url).host, method, params, signal,
        answer: (result) => call.write(JSON.stringify(result)),
        write: (text) => reply(`"result":${text}`),
        refuse: (error) => reply(`"error":${JSON.stringify(error)}`),
      }
      calls.push(call)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const providers = ['a', 'b'].map((id, priority) => ({ id, url: `https://${id}.test`, priority }))
  const own = 'chains' in options ? {} : { providers }
  const rpc = createRpcClient({ ...own, strategy: 'priority', seed: 1, fetch, ...options })
  t.after(() => rpc.dispose())
  return { rpc, calls }
}

/** How many calls upstream `requests` make, each `[request, options]`, all of them in flight at once. */
async function upstream(t, requests, options = {}) {
  const { rpc, calls } = openGated(t, { singleFlight: true, ...options })
  const all = requests.map(([request, own]) => rpc.request(request, own))
  await settle()
  const count = calls.length
  for (const call of calls) call.answer('0x1')
  await Promise.all(all)
  return count
}

for (const [what, options, expected] of [['by default', { singleFlight: undefined }, 2], ['when off', { singleFlight: false }, 2], ['when on', {}, 1]]) {
  test(`equal reads in flight make ${expected} upstream, ${what}`, async (t) => {
    assert.equal(await upstream(t, [[CALL], [structuredClone(CALL)]], options), expected)
  })
}

const two = { strategy: 'priority', chains: Object.fromEntries(['x', 'y'].map((id, at) => [id, { chainId: at + 1, providers: [`https://${id}.test`] }])) }
const profiles = { profiles: { p: two, q: two } }
const DIFFERENT = {
  params: [[[CALL], [{ ...CALL, params: [CALL.params[0], '0x10'] }]]],
  'params in another order': [[[{ method: 'eth_call', params: ['0x1', '0x2'] }], [{ method: 'eth_call', params: ['0x2', '0x1'] }]]],
  methods: [[[{ method: 'eth_gasPrice' }], [{ method: 'eth_blockNumber' }]]],
  chains: [[[CALL, { chain: 'x' }], [CALL, { chain: 'y' }]], { chains: two.chains }],
  profiles: [[[CALL, { chain: 'x', profile: 'p' }], [CALL, { chain: 'x', profile: 'q' }]], { chains: undefined, strategy: undefined, ...profiles }],
  deadlines: [[[CALL, { deadlineMs: 1_000 }], [CALL, { deadlineMs: 2_000 }]]],
  'providers that are named': [[[CALL, { provider: 'a' }], [CALL, { provider: 'b' }]]],
  'a provider that is named and none': [[[CALL], [CALL, { provider: 'a' }]]],
}
for (const [what, [requests, options]] of Object.entries(DIFFERENT)) {
  test(`not shared: different ${what}`, async (t) => {
    assert.equal(await upstream(t, requests, options), 2)
  })
}

test('the same chain by id, alias and number is one chain', async (t) => {
  const requests = [[CALL, { chain: 'x' }], [CALL, { chain: 1 }], [CALL, { chain: '1' }]]
  assert.equal(await upstream(t, requests, { chains: two.chains }), 1)
})

for (const method of [
  'eth_sendTransaction', 'eth_sendRawTransaction', 'personal_sign', 'vendor_anything', 'eth_newFilter', 'eth_newBlockFilter',
  'eth_newPendingTransactionFilter', 'eth_getFilterChanges', 'eth_uninstallFilter',
]) {
  test(`never shared: ${method}`, async (t) => {
    assert.equal(await upstream(t, [[{ method, params: ['0x1'] }], [{ method, params: ['0x1'] }]]), 2)
  })
}

test('every caller has a copy of his own, read in his own way', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  const all = [{}, {}, { parse: 'raw' }, { parse: 'bigint' }].map((own) => rpc.request(CALL, own))
  await settle()
  assert.equal(calls.length, 1)
  const text = '{"list": [1], "big": 9007199254740993}'
  calls[0].write(text)
  const [first, second, raw, bigint] = await Promise.all(all)
  first.list.push(2)
  assert.deepEqual(second, JSON.parse(text))
  assert.equal(raw, text)
  assert.deepEqual(bigint, { list: [1], big: 9007199254740993n })
})

test('a flight that has landed is not joined', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  for (const result of ['0x1', '0x2']) {
    const call = rpc.request(CALL)
    await settle()
    calls.at(-1).answer(result)
    assert.equal(await call, result)
  }
  assert.equal(calls.length, 2)
})

for (const leaver of [0, 1]) {
  test(`whoever stops waiting stops only for himself: caller ${leaver + 1} of 3`, async (t) => {
    const { rpc, calls } = openGated(t, { singleFlight: true })
    const controllers = [0, 1, 2].map(() => new AbortController())
    const all = controllers.map(({ signal }) => rpc.request(CALL, { signal }))
    await settle()
    const left = rejection(all[leaver])
    controllers[leaver].abort(new Error('enough'))
    const { name, cause } = await left
    assert.deepEqual([name, cause.message], ['AbortError', 'enough'])
    assert.equal(calls[0].signal.aborted, false)
    calls[0].answer('0x5')
    all.splice(leaver, 1)
    assert.deepEqual(await Promise.all(all), ['0x5', '0x5'])
    assert.equal(calls.length, 1)
  })
}

test('the last one who stops waiting closes the connection, and the next caller starts anew', async (t) => {
  const proxies = await startMocks(t, 2)
  const rpc = openClient(t, proxies, { singleFlight: true })
  proxies[0].fault('hang')
  const controllers = [0, 1].map(() => new AbortController())
  const all = controllers.map(({ signal }) => rejection(rpc.request(CALL, { signal })))
  await proxies[0].counters.until(({ bodies }) => bodies === 1)
  controllers[0].abort()
  await all[0]
  assert.equal(proxies[0].counters.aborted, 0)
  controllers[1].abort()
  assert.equal((await all[1]).name, 'AbortError')
  proxies[0].heal()
  assert.equal(await rpc.request(CALL), '0x')
  await proxies[0].counters.until(({ aborted }) => aborted === 1)
  assert.deepEqual(proxies.map(({ counters }) => counters.total), [2, 0])
  assert.equal(rpc.status().openRequests, 0)
})

test('a caller without a signal keeps the flight going', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  const controller = new AbortController()
  const left = rejection(rpc.request(CALL, { signal: controller.signal }))
  const stays = rpc.request(CALL)
  await settle()
  controller.abort()
  await left
  calls[0].answer('0x6')
  assert.equal(await stays, '0x6')
})

test('a signal that was aborted before joins nothing', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  const stays = rpc.request(CALL)
  await settle()
  assert.equal((await rejection(rpc.request(CALL, { signal: AbortSignal.abort() }))).name, 'AbortError')
  calls[0].answer('0x7')
  assert.equal(await stays, '0x7')
  assert.equal(calls.length, 1)
})

test("a provider's error reaches all callers", async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  const all = [0, 1, 2].map(() => rejection(rpc.request(CALL)))
  await settle()
  calls[0].refuse({ code: 3, message: 'execution reverted', data: '0x08c379a0' })
  for (const { name, code, data } of await Promise.all(all)) assert.deepEqual([name, code, data], ['RpcError', 3, '0x08c379a0'])
  assert.equal(calls.length, 1)
})

test('whoever joined later has his own deadline, not that of the first', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true, deadlineMs: 500 })
  const first = rejection(rpc.request(CALL))
  await new Promise((resolve) => setTimeout(resolve, 250))
  const second = rpc.request(CALL)
  const { reason } = await first
  assert.equal(reason, 'deadline')
  await settle()
  calls.at(-1).answer('0x8')
  assert.equal(await second, '0x8')
})

test('dispose rejects all callers, and nothing is sent after it', async (t) => {
  const { rpc, calls } = openGated(t, { singleFlight: true })
  const all = [{}, {}, { signal: new AbortController().signal }].map((own) => rejection(rpc.request(CALL, own)))
  await settle()
  rpc.dispose()
  assert.deepEqual((await Promise.all(all)).map(({ name }) => name), ['AbortError', 'AbortError', 'AbortError'])
  await settle()
  assert.equal(calls.length, 1)
  assert.equal(calls[0].signal.aborted, true)
})

test('two clients share nothing', async (t) => {
  const worlds = [openGated(t, { singleFlight: true, cache: true }), openGated(t, { singleFlight: true, cache: true })]
  const all = worlds.map(({ rpc }) => rpc.request({ method: 'eth_chainId' }))
  await settle()
  worlds.forEach(({ calls }, at) => calls[0].answer(`0x${at}`))
  assert.deepEqual(await Promise.all(all), ['0x0', '0x1'])
})

/** A client with a cache and a clock of the test's, over one provider with a table of results. */
function openCached(t, cache, results) {
  const clock = fakeClock()
  const asked = []
  const fetch = async (url, { body }) => {
    const { id, method } = JSON.parse(body)
    asked.push(method)
    const result = typeof results === 'function' ? results(asked.length) : results
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const rpc = createRpcClient({ providers: ['https://a.test'], fetch, now: clock.now, seed: 1, cache })
  t.after(() => rpc.dispose())
  return { rpc, asked, clock }
}

const MINED = { hash: HASH, transactionHash: HASH, blockHash: BLOCK, blockNumber: '0x1' }
const PENDING = { hash: HASH, blockHash: null, blockNumber: null }
const by = (method, ...params) => ({ method, params })
const IMMUTABLE = {
  'a block by hash': [by('eth_getBlockByHash', BLOCK, false), { hash: BLOCK, number: '0x1' }],
  'a mined receipt': [by('eth_getTransactionReceipt', HASH), MINED],
  'a mined transaction': [by('eth_getTransactionByHash', HASH), MINED],
  'the chain id': [by('eth_chainId'), '0x1'],
}
for (const [what, [request, result]] of Object.entries(IMMUTABLE)) {
  test(`kept: ${what}, a copy for everybody; not without the option`, async (t) => {
    const { rpc, asked } = openCached(t, true, result)
    const first = await rpc.request(request)
    if (typeof first === 'object') first.blockHash = 'spoilt'
    assert.deepEqual(await rpc.request(request), result)
    assert.equal(await rpc.request(request, { parse: 'raw' }), JSON.stringify(result))
    assert.equal(asked.length, 1)
    for (const off of [undefined, false]) {
      const plain = openCached(t, off, result)
      for (let call = 0; call < 2; call += 1) await plain.rpc.request(request)
      assert.equal(plain.asked.length, 2)
    }
  })
}

const CHANGING = {
  'the latest block': [by('eth_getBlockByNumber', 'latest', false), { hash: BLOCK, number: '0x1' }],
  'a block by number': [by('eth_getBlockByNumber', '0x1', false), { hash: BLOCK, number: '0x1' }],
  'the number of the latest block': [by('eth_blockNumber'), '0x1'],
  'a balance': [by('eth_getBalance', '0x01', 'latest'), '0x1'],
  'a call': [CALL, '0x'],
  'a block by hash that nobody knows': [by('eth_getBlockByHash', BLOCK, false), null],
  'a receipt that is not there yet': [by('eth_getTransactionReceipt', HASH), null],
  'a transaction that nobody knows': [by('eth_getTransactionByHash', HASH), null],
  'a pending transaction': [by('eth_getTransactionByHash', HASH), PENDING],
}
for (const [what, [request, result]] of Object.entries(CHANGING)) {
  test(`not kept: ${what}`, async (t) => {
    const { rpc, asked } = openCached(t, true, result)
    for (let call = 0; call < 3; call += 1) assert.deepEqual(await rpc.request(request), result)
    assert.equal(asked.length, 3)
  })
}

test('a transaction is kept from when it is mined', async (t) => {
  const { rpc, asked } = openCached(t, true, (call) => [null, PENDING, MINED][Math.min(call, 3) - 1])
  const request = by('eth_getTransactionByHash', HASH)
  for (const expected of [null, PENDING, MINED, MINED]) assert.deepEqual(await rpc.request(request), expected)
  assert.equal(asked.length, 3)
})

for (const [cache, ttlMs] of [[true, 15_000], [{ ttlMs: 400 }, 400]]) {
  test(`an answer is kept for ${ttlMs} ms of the client's clock`, async (t) => {
    const { rpc, asked, clock } = openCached(t, cache, MINED)
    const request = by('eth_getTransactionReceipt', HASH)
    await rpc.request(request)
    clock.ms += ttlMs - 1
    await rpc.request(request)
    assert.equal(asked.length, 1)
    clock.ms += 2
    await rpc.request(request)
    assert.equal(asked.length, 2)
    clock.ms += ttlMs - 1
    await rpc.request(request)
    assert.equal(asked.length, 2)
  })
}

test('a clock that was set back makes nothing last longer', async (t) => {
  const { rpc, asked, clock } = openCached(t, { ttlMs: 1_000 }, MINED)
  const request = by('eth_getTransactionReceipt', HASH)
  clock.ms = 1_000_000
  await rpc.request(request)
  clock.ms = 1_000
  await rpc.request(request)
  clock.ms += 1_001
  const before = asked.length
  await rpc.request(request)
  assert.equal(asked.length, before + 1)
})

test('no more than maxEntries are kept; the oldest goes first', async (t) => {
  const { rpc, asked } = openCached(t, { maxEntries: 2 }, MINED)
  const ask = (at) => rpc.request(by('eth_getTransactionReceipt', `0x${at}`))
  for (const at of [1, 2, 3]) await ask(at)
  await ask(2)
  await ask(3)
  assert.equal(asked.length, 3)
  await ask(1)
  assert.equal(asked.length, 4)
  await ask(3)
  assert.equal(asked.length, 4)
})

test('chains do not answer for each other', async (t) => {
  const { rpc, calls } = openGated(t, { chains: two.chains, cache: true, singleFlight: true })
  for (const round of [0, 1]) {
    const all = ['x', 'y'].map((chain) => rpc.request({ method: 'eth_chainId' }, { chain }))
    await settle()
    if (round === 0) for (const { host, answer } of calls) answer(host === 'x.test' ? '0x1' : '0x2')
    assert.deepEqual(await Promise.all(all), ['0x1', '0x2'])
  }
  assert.equal(calls.length, 2)
})

test('whoever names a provider hears that one, not the cache', async (t) => {
  const { rpc, asked } = openCached(t, true, '0x1')
  await rpc.request({ method: 'eth_chainId' })
  await rpc.request({ method: 'eth_chainId' }, { provider: 'a.test' })
  assert.equal(asked.length, 2)
})

test('a signal that was aborted before gets nothing out of the cache', async (t) => {
  const { rpc } = openCached(t, true, '0x1')
  await rpc.request({ method: 'eth_chainId' })
  assert.equal((await rejection(rpc.request({ method: 'eth_chainId' }, { signal: AbortSignal.abort() }))).name, 'AbortError')
})

const WRONG = [
  [{ singleFlight: 'yes' }, /singleFlight/], [{ singleFlight: 1 }, /singleFlight/],
  [{ cache: 'yes' }, /cache/], [{ cache: 5 }, /cache/], [{ cache: { ttl: 5 } }, /cache.*ttl/],
  [{ cache: { ttlMs: 0 } }, /cache\.ttlMs.*1 to 3600000/], [{ cache: { ttlMs: 3_600_001 } }, /cache\.ttlMs.*1 to 3600000/],
  [{ cache: { ttlMs: NaN } }, /cache\.ttlMs/], [{ cache: { ttlMs: '1' } }, /cache\.ttlMs/],
  [{ cache: { maxEntries: 0 } }, /cache\.maxEntries.*1 to 100000/], [{ cache: { maxEntries: 100_001 } }, /cache\.maxEntries.*1 to 100000/],
  [{ cache: { maxEntries: 1.5 } }, /cache\.maxEntries/],
]
test('wrong options are refused with their path and what is allowed', () => {
  for (const [options, message] of WRONG) {
    const make = () => createRpcClient({ providers: ['https://a.test'], ...options })
    assert.throws(make, { name: 'WaypostError', reason: 'invalid_option', message }, JSON.stringify(options))
  }
})
