import assert from 'node:assert/strict'
import test from 'node:test'
import { address, createDefaultRpcTransport, createSolanaRpc, createSolanaRpcFromTransport, isSolanaError } from '@solana/kit'
import { createRpcClient, WaypostError } from 'waypost'
import { waypost } from 'waypost/kit'
import { openClient, rejection } from '../support/client.mjs'
import { startProxy } from '../support/fault-proxy.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

const OWNER = address('11111111111111111111111111111111')
const MAX = 18446744073709551615n

/** A node that answers each method by a table and keeps what it was asked. */
async function startNode(t, results = {}) {
  const asked = []
  const node = await startProxy(t, ({ method, params }) => {
    asked.push({ method, params })
    return results[method] ?? null
  })
  return { node, asked }
}

const open = (t, mocks) => createSolanaRpcFromTransport(waypost(openClient(t, mocks)))

test('kit gets from us what it gets from its own transport, with all digits', async (t) => {
  const { node, asked } = await startNode(t)
  const ours = open(t, [node])
  const theirs = createSolanaRpc(node.url)
  const calls = {
    getSlot: [(rpc) => rpc.getSlot({ minContextSlot: 7n }), '345'],
    getBalance: [(rpc) => rpc.getBalance(OWNER), `{"context":{"slot":1},"value":${MAX}}`],
    getEpochInfo: [(rpc) => rpc.getEpochInfo(), '{"absoluteSlot":9007199254740993,"epoch":27,"transactionCount":null}'],
    getTokenSupply: [
      (rpc) => rpc.getTokenSupply(OWNER),
      '{"context":{"slot":1},"value":{"amount":"18446744073709551615","decimals":6,"uiAmount":1.5,"uiAmountString":"1.5"}}',
    ],
    getMinimumBalanceForRentExemption: [(rpc) => rpc.getMinimumBalanceForRentExemption(128n), '890880'],
    getAccountInfo: [(rpc) => rpc.getAccountInfo(OWNER, { encoding: 'base64', dataSlice: { offset: 1, length: 2 } }), 'null'],
  }
  for (const [method, [call, resultText]] of Object.entries(calls)) {
    node.heal().fault('rawResult', { resultText })
    assert.deepEqual(await call(ours).send(), await call(theirs).send(), method)
  }
  node.heal().fault('rawResult', { resultText: `${MAX}` })
  assert.equal(await ours.getTransactionCount().send(), MAX)
  node.heal()
  for (const [call] of Object.values(calls)) {
    await call(ours).send()
    await call(theirs).send()
    const [mine, its] = asked.splice(0)
    assert.deepEqual(mine, its)
  }
})

/** Errors as validators send them. */
const ERRORS = {
  'a failed preflight': {
    code: -32002,
    message: 'Transaction simulation failed',
    data: { err: { InstructionError: [0, { Custom: 6001 }] }, logs: ['log'], unitsConsumed: 1400, accounts: null, returnData: null },
  },
  'a node that lags behind': { code: -32016, message: 'Minimum context slot has not been reached', data: { contextSlot: 41 } },
  'wrong params': { code: -32602, message: 'Invalid param: WrongSize' },
  'a skipped slot': { code: -32007, message: 'Slot 5 was skipped, or missing due to ledger jump to recent snapshot' },
}

for (const [name, fault] of Object.entries(ERRORS)) {
  test(`${name} is the SolanaError that kit makes with its own transport`, async (t) => {
    const { node } = await startNode(t)
    node.fault('rpcError', fault)
    const act = (rpc) => rejection(rpc.sendTransaction('AQ==', { encoding: 'base64' }).send())
    const [ours, theirs] = [await act(open(t, [node])), await act(createSolanaRpc(node.url))]
    assert.ok(isSolanaError(ours, fault.code))
    assert.deepEqual(ours.context, theirs.context)
    assert.deepEqual(ours.cause?.context, theirs.cause?.context)
  })
}

test('reads move on to the next node', async (t) => {
  const { node: dead } = await startNode(t)
  await dead.refuse()
  const { node } = await startNode(t, { getSlot: 5 })
  assert.equal(await open(t, [dead, node]).getSlot().send(), 5n)
})

test('without an answer our own error comes', async (t) => {
  const { node } = await startNode(t)
  node.fault('status', { status: 503 })
  const rpc = openClient(t, [node], { maxAttempts: 1 })
  const error = await rejection(createSolanaRpcFromTransport(waypost(rpc)).getSlot().send())
  assert.ok(error instanceof WaypostError)
  assert.deepEqual([error.reason, error.attempts.map(({ class: kind }) => kind)], ['exhausted', ['server']])
})

test('an abort reaches the node, and its reason the caller, as with the transport of kit', async (t) => {
  const { node } = await startNode(t)
  node.fault('hang')
  const client = openClient(t, [node])
  const ended = new Promise((resolve) => client.on('request', ({ outcome }) => resolve(outcome)))
  const reason = new DOMException('too late', 'TimeoutError')
  for (const transport of [waypost(client), createDefaultRpcTransport({ url: node.url })]) {
    node.counters.reset()
    const controller = new AbortController()
    const pending = rejection(createSolanaRpcFromTransport(transport).getSlot().send({ abortSignal: controller.signal }))
    await node.counters.until(({ total }) => total === 1)
    controller.abort(reason)
    assert.equal(await pending, reason)
    await node.counters.until(({ aborted }) => aborted === 1)
  }
  assert.equal(await ended, 'aborted')
})

test('bigints of any depth are sent as integers', async (t) => {
  const { node, asked } = await startNode(t)
  const transport = waypost(openClient(t, [node]))
  const params = [1n, { a: [9007199254740991n, { b: -2n }], c: 'x', d: 0.5, e: null, f: true }]
  await transport({ payload: { jsonrpc: '2.0', id: '1', method: 'getAny', params } })
  assert.deepEqual(asked[0].params, [1, { a: [9007199254740991, { b: -2 }], c: 'x', d: 0.5, e: null, f: true }])
})

test('a bigint that no number holds is sent with all its digits, or refused where the runtime cannot', async (t) => {
  const bodies = []
  const fetch = async (_url, { body }) => {
    bodies.push(body)
    return Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: 1 })
  }
  const rpc = createRpcClient({ providers: ['http://a.test'], fetch })
  t.after(() => rpc.dispose())
  const sent = waypost(rpc)({ payload: { jsonrpc: '2.0', id: '1', method: 'getAny', params: [MAX] } })
  if ('rawJSON' in JSON) {
    await sent
    assert.match(bodies[0], /"params":\[18446744073709551615\]/)
  } else {
    assert.match((await rejection(sent)).message, /params of getAny cannot be written as JSON/)
  }
})

test('options of a call hold for every request', async (t) => {
  const [a, b] = providersOf(await startMocks(t, 2))
  const rpc = createRpcClient({ chains: { solana: { providers: [a] }, eclipse: { providers: [b] } } })
  t.after(() => rpc.dispose())
  const payload = { jsonrpc: '2.0', id: '1', method: 'web3_clientVersion', params: [] }
  assert.deepEqual(await waypost(rpc, { chain: 'eclipse' })({ payload }), { jsonrpc: '2.0', id: '1', result: 'mock/b' })
  assert.match((await rejection(waypost(rpc)({ payload }))).message, /names no chain.*"solana", "eclipse"/)
})
