import assert from 'node:assert/strict'
import test from 'node:test'
import { RpcError, WaypostError } from 'waypost'
import { openClient, providerStatus, rejection } from '../support/client.mjs'
import { startMocks, startShared } from '../support/providers.mjs'

const NOPE = `0x08c379a0${'20'.padStart(64, '0')}${'4'.padStart(64, '0')}${'6e6f7065'.padEnd(64, '0')}`
// Init code that copies the 100 bytes after itself to memory and reverts with them.
const REVERTING = `0x606461000f60003960646000fd0000${NOPE.slice(2)}`
const CALL = { method: 'eth_call', params: [{ data: '0x' }, 'latest'] }
const BLOCK = { method: 'eth_blockNumber', params: [] }

const REVERTS = {
  'code 3 with data': { code: 3, message: 'execution reverted: nope', data: NOPE },
  'code 3 without data': { code: 3, message: 'execution reverted' },
  'code 3 with a custom error': { code: 3, message: 'execution reverted', data: '0x1425ea42' },
  'code 3 with a text of the contract that sounds like a limit': { code: 3, message: 'execution reverted: rate limit exceeded' },
  'code 3 with other words': { code: 3, message: 'VM exception' },
  'catch-all code with the words': { code: -32000, message: 'execution reverted' },
  'catch-all code with a reason': { code: -32000, message: 'execution reverted: nope', data: NOPE },
  'catch-all code with data only': { code: -32000, message: 'server error', data: NOPE },
  'catch-all code with a panic': { code: -32000, message: 'error', data: `0x4e487b71${'11'.padStart(64, '0')}` },
  'ganache': { code: -32000, message: 'VM Exception while processing transaction: revert nope', data: NOPE },
  'hardhat with nested data': {
    code: -32603,
    message: "Error: VM Exception while processing transaction: reverted with reason string 'nope'",
    data: { message: 'reverted', data: NOPE },
  },
  'hardhat with a custom error': {
    code: -32603, message: "VM Exception while processing transaction: reverted with custom error 'Nope()'",
  },
  'openethereum': { code: -32015, message: 'VM execution error.', data: `Reverted ${NOPE}` },
  'nethermind': { code: -32015, message: 'VM execution error.', data: 'revert' },
  'internal error with the words': { code: -32603, message: 'execution reverted' },
  'limit code with data': { code: -32005, message: 'request failed', data: NOPE },
}

test('a real revert reaches the caller with code, message and data after one hit', async (t) => {
  const { proxies } = await startShared(t, 2)
  const rpc = openClient(t, proxies)
  const error = await rejection(rpc.request({ method: 'eth_call', params: [{ data: REVERTING }, 'latest'] }))
  assert.ok(error instanceof RpcError)
  assert.deepEqual([error.code, error.message, error.data], [3, 'execution reverted: nope', NOPE])
  assert.deepEqual(proxies.map(({ counters }) => counters.total), [1, 0])
})

for (const [spelling, revert] of Object.entries(REVERTS)) {
  test(`a revert is final and untouched, spelt as ${spelling}`, async (t) => {
    const proxies = await startMocks(t, 3)
    proxies[0].fault('rpcError', revert)
    const rpc = openClient(t, proxies)
    const error = await rejection(rpc.request(CALL))
    assert.ok(error instanceof RpcError)
    assert.deepEqual([error.code, error.message, error.data], [revert.code, revert.message, revert.data])
    assert.deepEqual(proxies.map(({ counters }) => counters.total), [1, 0, 0])
    assert.deepEqual(error.attempts.map(({ provider, class: kind }) => [provider, kind]), [['a', 'revert']])
    for (let call = 0; call < 10; call += 1) await rejection(rpc.request(CALL))
    assert.equal(providerStatus(rpc, 'a').circuit, 'closed')
  })
}

for (const [fault, error] of Object.entries({
  'wrong parameters': { code: -32602, message: 'missing value for required argument 0' },
  'a refused transaction': { code: -32000, message: 'insufficient funds for gas * price + value' },
  'a rejection by the user': { code: 4001, message: 'User rejected the request.' },
})) {
  test(`${fault} is the caller's own error and not tried elsewhere`, async (t) => {
    const proxies = await startMocks(t, 2)
    proxies[0].fault('rpcError', error)
    const rpc = openClient(t, proxies)
    const { code, message } = await rejection(rpc.request(CALL))
    assert.deepEqual({ code, message }, error)
    assert.deepEqual(proxies.map(({ counters }) => counters.total), [1, 0])
  })
}

test('when all fail, one error names every attempt: which provider, which class, how long', async (t) => {
  const proxies = await startMocks(t, 5)
  await proxies[0].refuse()
  proxies[1].fault('status', { status: 503 })
  proxies[2].fault('status', { status: 401 })
  proxies[3].fault('rateLimited', { retryAfter: 7 })
  proxies[4].fault('html')
  const rpc = openClient(t, proxies, { maxAttempts: 5, deadlineMs: 4_000 })
  const error = await rejection(rpc.request(BLOCK))
  assert.ok(error instanceof WaypostError)
  assert.equal(error.reason, 'exhausted')
  assert.equal(typeof error.code, 'number')
  assert.deepEqual(
    error.attempts.map(({ provider, outcome, class: kind }) => [provider, outcome, kind]),
    [['a', 'network'], ['b', 'server'], ['c', 'auth'], ['d', 'rate_limit'], ['e', 'server']]
      .map(([provider, kind]) => [provider, 'error', kind]),
  )
  assert.ok(error.attempts.every(({ ms }) => Number.isInteger(ms) && ms >= 0))
  for (const word of ['eth_blockNumber', 'a', 'b', 'c', 'd', 'e']) assert.match(error.message, new RegExp(`\\b${word}\\b`))
  assert.deepEqual(error.meta.attempts, error.attempts)
})

test('once every circuit is open, the error says when it makes sense to try again', async (t) => {
  const proxies = await startMocks(t, 2)
  for (const proxy of proxies) await proxy.refuse()
  const rpc = openClient(t, proxies, { deadlineMs: 1_000 })
  let error
  for (let call = 0; call < 6; call += 1) error = await rejection(rpc.request(BLOCK))
  assert.deepEqual(['a', 'b'].map((id) => providerStatus(rpc, id).circuit), ['open', 'open'])
  assert.ok(error.retryAfterMs > 0 && error.retryAfterMs <= 21_000, `${error.retryAfterMs}`)
  assert.match(error.message, /again/)
})

test('when others fail, the revert of one provider is what the caller gets', async (t) => {
  const proxies = await startMocks(t, 3)
  proxies[0].fault('status', { status: 503 })
  proxies[1].fault('rpcError', { code: 3, message: 'execution reverted: nope', data: NOPE })
  const error = await rejection(openClient(t, proxies).request(CALL))
  assert.deepEqual([error.code, error.data], [3, NOPE])
  assert.equal(proxies[2].counters.total, 0)
})

test('a limit inside a contract call is never shown as a revert', async (t) => {
  const proxies = await startMocks(t, 2)
  for (const proxy of proxies) proxy.fault('rpcError', { code: -32005, message: 'daily request count exceeded, request rate limited' })
  const error = await rejection(openClient(t, proxies, { deadlineMs: 2_000 }).request(CALL))
  assert.deepEqual(error.attempts.map(({ class: kind }) => kind), ['rate_limit', 'rate_limit'])
  assert.ok(!/revert/i.test(error.message))
})

test('a method that one provider lacks is asked of the next; if all lack it, their error is shown', async (t) => {
  const proxies = await startMocks(t, 3)
  const missing = { code: -32601, message: 'the method eth_feeHistory does not exist/is not available' }
  const rpc = openClient(t, proxies)
  proxies[0].fault('rpcError', { ...missing, times: 1 })
  await rpc.request({ method: 'eth_feeHistory', params: [] })
  assert.deepEqual(proxies.map(({ counters }) => counters.total), [1, 1, 0])
  for (const proxy of proxies) proxy.heal().fault('rpcError', missing)
  const { code, message } = await rejection(rpc.request({ method: 'eth_feeHistory', params: [] }))
  assert.deepEqual({ code, message }, missing)
  assert.equal(providerStatus(rpc, 'a').circuit, 'closed')
})

test('send answers with the envelope of an upstream error and never throws for it', async (t) => {
  const proxies = await startMocks(t, 2)
  const rpc = openClient(t, proxies)
  proxies[0].fault('rpcError', { code: 3, message: 'execution reverted', data: NOPE, times: 1 })
  const { response, meta } = await rpc.send({ jsonrpc: '2.0', id: 'x', ...CALL })
  assert.deepEqual(response, {
    jsonrpc: '2.0', id: 'x', error: { code: 3, message: 'execution reverted', data: NOPE },
  })
  assert.equal(meta.selected_provider.id, 'a')
  for (const proxy of proxies) proxy.fault('status', { status: 500 })
  const failed = await rpc.send({ jsonrpc: '2.0', id: 8, ...CALL })
  assert.equal(failed.response.id, 8)
  assert.equal(typeof failed.response.error.code, 'number')
  assert.deepEqual(failed.response.error.data.attempts.map(({ provider }) => provider).slice(0, 2), ['a', 'b'])
})

test('an error of a provider is JSON without routing details, which stay readable', async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('rpcError', { code: 3, message: 'execution reverted', data: NOPE })
  const error = await rejection(openClient(t, [proxy]).request(CALL))
  assert.deepEqual(Object.keys(error).filter((key) => ['attempts', 'meta'].includes(key)), [])
  assert.equal(error.meta.selected_provider.id, 'a')
  assert.equal(error.attempts.length, 1)
})
