import assert from 'node:assert/strict'
import test from 'node:test'
import { openClient, rejection } from '../support/client.mjs'
import { startMocks, startShared } from '../support/providers.mjs'
import { chainHashes, hashesOf, sentAgain, signTransactions } from '../support/transactions.mjs'

const hits = (proxies) => proxies.map(({ counters }) => counters.total)
const SIGN = { method: 'eth_sendTransaction', params: [{ from: '0x0', to: '0x0' }] }
const sendRaw = (raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })

const KNOWN = {
  'geth': { code: -32000, message: 'already known' },
  'old geth': { code: -32000, message: 'known transaction: 4f62256a' },
  'nethermind': { code: -32010, message: 'AlreadyKnown' },
  'erigon': { code: -32000, message: 'ALREADY_EXISTS: already known' },
  'openethereum': { code: -32010, message: 'Transaction with the same hash was already imported.' },
  'anvil': { code: -32003, message: 'transaction already imported' },
  'besu': { code: -32000, message: 'Known transaction' },
}

for (const [client, error] of Object.entries(KNOWN)) {
  test(`a transaction whose answer got lost is a success when the next provider knows it, in the words of ${client}`, async (t) => {
    const proxies = await startMocks(t, 2)
    proxies[0].fault('resetAfterForward')
    proxies[1].fault('rpcError', error)
    const raws = await signTransactions(1)
    assert.equal(await openClient(t, proxies).request(sendRaw(raws[0])), hashesOf(raws)[0])
    assert.deepEqual(hits(proxies), [1, 1])
  })

  test(`without an attempt of our own before it, the caller gets "already known" in the words of ${client}`, async (t) => {
    const proxies = await startMocks(t, 2)
    proxies[0].fault('rpcError', error)
    const [raw] = await signTransactions(1)
    const { code, message } = await rejection(openClient(t, proxies).request(sendRaw(raw)))
    assert.deepEqual({ code, message }, error)
    assert.deepEqual(hits(proxies), [1, 0])
  })
}

test('a transaction that is mined before its answer got lost is a success, though its nonce is used', async (t) => {
  const { node, proxies } = await startShared(t, 2)
  proxies[0].fault('resetAfterForward', { times: 1 })
  const raws = await signTransactions(1)
  assert.equal(await openClient(t, proxies).request(sendRaw(raws[0])), hashesOf(raws)[0])
  assert.deepEqual(await chainHashes(node.url), hashesOf(raws))
  assert.deepEqual(sentAgain(proxies), [])
})

test('a nonce that another transaction has used is an error, also after a lost answer', async (t) => {
  const { proxies } = await startShared(t, 2)
  const rpc = openClient(t, proxies)
  const [first] = await signTransactions(1)
  const [rival] = await signTransactions(1, { value: 2n })
  await rpc.request(sendRaw(first))
  proxies[0].fault('reset', { times: 1 })
  const { message } = await rejection(rpc.request(sendRaw(rival)))
  assert.match(message, /nonce too low/)
})

test('sending waits for a slow provider and does not race another one', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('slow', { delayMs: 150 })
  const [raw] = await signTransactions(1)
  await openClient(t, proxies).request(sendRaw(raw))
  assert.deepEqual(hits(proxies), [1, 0])
})

const NOT_EXECUTED = {
  'a 429': ['rateLimited', {}],
  'a 401': ['status', { status: 401 }],
  'a 403': ['status', { status: 403 }],
  'an unknown method': ['rpcError', { code: -32601, message: 'the method does not exist' }],
  'a limit error': ['rpcError', { code: -32005, message: 'rate limit exceeded' }],
}
for (const [what, [fault, options]] of Object.entries(NOT_EXECUTED)) {
  test(`an unsafe request moves on after ${what}, which proves that nothing was executed`, async (t) => {
    const proxies = await startMocks(t, 2, { eth_sendTransaction: '0x1' })
    proxies[0].fault(fault, options)
    assert.equal(await openClient(t, proxies).request(SIGN), '0x1')
    assert.deepEqual(hits(proxies), [1, 1])
  })
}

const MAYBE_EXECUTED = {
  'a reset connection': ['resetAfterForward'],
  'a 500': ['status', { status: 500 }],
  'a 503': ['status', { status: 503 }],
  'no answer': ['hang'],
  'half an answer': ['truncated'],
  'an empty answer': ['empty'],
  'HTML': ['html'],
}
for (const [what, [fault, options]] of Object.entries(MAYBE_EXECUTED)) {
  test(`an unsafe request is sent once when it ends with ${what}, and the error says that nobody knows`, async (t) => {
    const proxies = await startMocks(t, 3)
    proxies[0].fault(fault, options)
    const error = await rejection(openClient(t, proxies, { deadlineMs: 500 }).request(SIGN))
    assert.equal(error.reason, 'indeterminate')
    assert.match(error.message, /not known whether it was executed/)
    assert.deepEqual(hits(proxies), [1, 0, 0])
  })
}

test('a filter is asked for where it was made', async (t) => {
  const proxies = await startMocks(t, 3)
  for (const [index, proxy] of proxies.entries()) {
    proxy.fault('result', { method: 'eth_newFilter', result: `0x${index + 1}` })
    proxy.fault('result', { method: 'eth_getFilterChanges', result: [`from ${index}`] })
  }
  const rpc = openClient(t, proxies, { strategy: 'load_balanced' })
  const id = await rpc.request({ method: 'eth_newFilter', params: [{}] })
  const maker = Number(id) - 1
  for (let call = 0; call < 12; call += 1) {
    assert.deepEqual(await rpc.request({ method: 'eth_getFilterChanges', params: [id] }), [`from ${maker}`])
  }
})
