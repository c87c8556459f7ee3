import assert from 'node:assert/strict'
import test from 'node:test'
import { createRpcClient } from 'waypost'
import { aheadClock, openClient, rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }

/** Small seeded generator (mulberry32), so that a failure can be repeated. */
function generator(seed) {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { random, pick: (list) => list[Math.floor(random() * list.length)] }
}

const VALUES = [
  'null', 'true', '0', '-1', '1e999', '3.7', '9007199254740993', '""', '"execution reverted"', '"0x"',
  `"${'x'.repeat(9_000)}"`, '"\\ud800"', '[]', '{}', '[[[]]]', '{"code":null}', `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
]
const MEMBERS = ['id', 'result', 'error', 'jsonrpc', 'code', 'message', 'data', '__proto__', 'constructor']
const STATUSES = [200, 201, 400, 401, 404, 405, 408, 413, 418, 429, 500, 502, 503, 529, 599]
const RETRY_AFTER = [undefined, '0', '-1', '1e99', 'NaN', 'soon', '99999999999999999999', 'Thu, 01 Jan 1970 00:00:00 GMT']

function hostileResponse({ pick, random }, id) {
  const object = () => `{${Array.from({ length: Math.floor(random() * 5) }, () => `"${pick(MEMBERS)}":${pick(VALUES)}`).join(',')}}`
  const body = pick([
    () => pick(VALUES),
    object,
    () => `{"jsonrpc":"2.0","id":${id},"error":${pick([object(), pick(VALUES)])}}`,
    () => `{"jsonrpc":"2.0","id":${id},"error":{"code":${pick(VALUES)},"message":${pick(VALUES)},"data":${pick(VALUES)}}}`,
    () => `[${object()}]`,
    () => pick(['', ' ', '\u0000', '{', '\ufeff{}', '<html>', '{"result":1}{"result":2}']),
  ])()
  const retryAfter = pick(RETRY_AFTER)
  return new Response(body, { status: pick(STATUSES), headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } })
}

test('whatever providers answer, each call settles with a result or a typed error, and the client works on', { timeout: 60_000 }, async (t) => {
  const dice = generator(2024)
  const clock = aheadClock()
  let hostile = true
  const rpc = createRpcClient({
    providers: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
    rateLimit: { defaultMs: 60_000 },
    now: clock.now,
    seed: 1,
    deadlineMs: 100,
    fetch: async (url, { body }) => {
      const { id } = JSON.parse(body)
      return hostile
        ? hostileResponse(dice, JSON.stringify(id))
        : new Response(JSON.stringify({ jsonrpc: '2.0', id, result: 'well' }))
    },
  })
  t.after(() => rpc.dispose())
  for (let round = 0; round < 300; round += 1) {
    hostile = true
    clock.aheadMs += 600_000
    await rpc.request(WHO).catch((error) => {
      assert.ok(error instanceof Error && typeof error.code === 'number', `${error.stack}`)
      assert.ok(!/unreachable|recursive|null pointer|panicked/.test(error.message), error.message)
    })
    clock.aheadMs += 600_000
    hostile = false
    assert.equal(await rpc.request(WHO), 'well', `round ${round}`)
  }
  assert.equal(rpc.status().openRequests, 0)
})

const circular = []
circular.push(circular)
const BAD_REQUESTS = {
  'no method': {}, 'a method that is no string': { method: 7 }, 'an empty method': { method: '' },
  'a circular parameter': { method: 'eth_call', params: circular },
  'a bigint parameter': { method: 'eth_call', params: [1n] },
  'parameters that are no list or object': { method: 'eth_call', params: 'latest' },
  'nothing': undefined,
}
for (const [what, request] of Object.entries(BAD_REQUESTS)) {
  test(`a request with ${what} is refused before anything is sent`, async (t) => {
    const proxies = await startMocks(t, 1)
    const rpc = openClient(t, proxies)
    const error = await rejection(rpc.request(request))
    assert.equal(error.reason, 'invalid_request')
    assert.equal(proxies[0].counters.total, 0)
    assert.equal(await rpc.request(WHO), 'mock/a')
  })
}

test('a client wants providers, and says so', () => {
  for (const options of [undefined, {}, { providers: [] }, { providers: [{}] }, { providers: ['nonsense'] }, { chains: {} }]) {
    assert.throws(() => createRpcClient(options), (error) => error.name === 'WaypostError' && error.message.length > 20)
  }
})

test('request objects may carry the members of an envelope, as some libraries send them', async (t) => {
  const proxies = await startMocks(t, 1)
  assert.equal(await openClient(t, proxies).request({ jsonrpc: '2.0', id: 77, ...WHO }), 'mock/a')
})
