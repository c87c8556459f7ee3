import assert from 'node:assert/strict'
import test from 'node:test'
import { FetchRequest, Interface, JsonRpcProvider, Wallet } from 'ethers'
import { createRpcClient, WaypostError } from 'waypost'
import { waypost } from 'waypost/ethers'
import { openClient, rejection } from '../support/client.mjs'
import { providersOf, startMocks, startShared } from '../support/providers.mjs'
import { chainHashes, sentAgain } from '../support/transactions.mjs'
import { ACCOUNTS, CHAIN_ID } from '../support/workloads.mjs'

const STATIC = [CHAIN_ID, { staticNetwork: true }]
const [{ address, key }] = ACCOUNTS
const SIGNED = '0x02f86f827a698084773594008504a817c80082520894000000000000000000000000000000000000dead0180c080a0' +
  `${'11'.repeat(32)}a0${'22'.repeat(32)}`

/** A provider of ethers that ends with the test: one that looks for its network would never end. */
function open(t, connection, [network, options] = STATIC) {
  const provider = new JsonRpcProvider(connection, network, options)
  t.after(() => provider.destroy())
  return provider
}

const connect = (t, mocks, options) => waypost(openClient(t, mocks), { FetchRequest, ...options })

test('ethers finds the network, reads, sends and waits', async (t) => {
  const { node, proxies } = await startShared(t, 3, { isTicking: true })
  await proxies[0].refuse()
  const provider = open(t, connect(t, proxies), [])
  provider.pollingInterval = 20
  assert.equal((await provider.getNetwork()).chainId, BigInt(CHAIN_ID))
  const sent = await new Wallet(key, provider).sendTransaction({ to: ACCOUNTS[1].address, value: 1n })
  const { hash, status, blockNumber } = await sent.wait()
  assert.deepEqual([hash, status], [sent.hash, 1])
  assert.deepEqual((await provider.getBlock(blockNumber)).transactions, [hash])
  assert.deepEqual(await chainHashes(node.url), [hash])
  assert.deepEqual(sentAgain(proxies), [])
})

test('what ethers collects is one batch, and a static network is not asked for', async (t) => {
  const [mock] = await startMocks(t, 1)
  const provider = open(t, connect(t, [mock]))
  const answers = await Promise.all([provider.getBlockNumber(), provider.getBalance(address), provider.send('web3_clientVersion', [])])
  assert.deepEqual(answers, [16, 100n, 'mock/a'])
  assert.deepEqual(mock.counters.batches, [3])
  assert.equal(mock.counters.of('eth_chainId'), 0)
})

const call = (provider) => provider.call({ to: address, data: '0x12345678' })
const estimate = (provider) => provider.estimateGas({ to: address, from: address })
const broadcast = (provider) => provider.send('eth_sendRawTransaction', [SIGNED])
const sign = (provider) => provider.send('eth_sendTransaction', [{ from: address, to: address }])
const revert = new Interface(['error Error(string)']).encodeErrorResult('Error', ['nope'])

/** Faults of a provider, and the code that ethers gives them. */
const ERRORS = [
  ['CALL_EXCEPTION', call, { code: 3, message: 'execution reverted: nope', data: revert }],
  ['CALL_EXCEPTION', call, { code: 3, message: 'execution reverted', data: '0xdeadbeef' }],
  ['CALL_EXCEPTION', call, { code: -32015, message: 'VM execution error: reverted', data: { message: 'revert', data: revert } }],
  ['CALL_EXCEPTION', estimate, { code: 3, message: 'execution reverted: nope', data: revert }],
  ['INSUFFICIENT_FUNDS', estimate, { code: -32000, message: 'insufficient funds for transfer' }],
  ['INSUFFICIENT_FUNDS', broadcast, { code: -32000, message: 'insufficient funds for gas * price + value' }],
  ['NONCE_EXPIRED', broadcast, { code: -32000, message: 'nonce too low: next nonce 5, tx nonce 0' }],
  ['REPLACEMENT_UNDERPRICED', broadcast, { code: -32000, message: 'replacement transaction underpriced' }],
  ['ACTION_REJECTED', sign, { code: 4001, message: 'User denied transaction signature.' }],
  ['UNSUPPORTED_OPERATION', sign, { code: -32601, message: 'the method eth_sendTransaction does not exist/is not available' }],
  ['UNKNOWN_ERROR', sign, { code: -32602, message: 'invalid argument 0' }],
]

for (const [code, act, fault] of ERRORS) {
  test(`"${fault.message}" is the ${code} that it is for any URL`, async (t) => {
    const [mock] = await startMocks(t, 1)
    mock.fault('rpcError', fault)
    const theirs = await rejection(act(open(t, mock.url)))
    const ours = await rejection(act(open(t, connect(t, [mock]))))
    const told = ({ code, shortMessage, data, reason, revert, transaction, info, error }) =>
      JSON.parse(JSON.stringify({ code, shortMessage, data, reason, revert, transaction, error: error ?? info?.error }))
    assert.equal(ours.code, code)
    assert.deepEqual(told(ours), told(theirs))
  })
}

test('without an answer a call is no revert: the server is down, and the attempts are told', async (t) => {
  const mocks = await startMocks(t, 2)
  for (const mock of mocks) mock.fault('status', { status: 503 })
  const provider = open(t, connect(t, mocks))
  for (const calls of [[call], [call, call]]) {
    for (const error of await Promise.all(calls.map((act) => rejection(act(provider))))) {
      assert.equal(error.code, 'SERVER_ERROR')
      assert.match(error.shortMessage, /^server response 503 eth_call on default: no provider answered/)
      const [{ error: told }] = [JSON.parse(error.info.responseBody)].flat()
      assert.deepEqual([told.code, told.data.reason, told.data.attempts.length > 0], [4900, 'exhausted', true])
    }
  }
})

test('of a batch, what got no answer takes nothing with it, and is no revert', async (t) => {
  const [mock] = await startMocks(t, 1)
  mock.fault('rpcError', { method: 'eth_call', code: -32603, message: 'internal error' })
  const provider = open(t, connect(t, [mock]))
  const [block, error] = await Promise.all([provider.getBlockNumber(), rejection(call(provider))])
  assert.equal(block, 16)
  assert.equal(error.code, 'BAD_DATA')
  assert.match(error.message, /missing response for request.*eth_call on default: no provider answered/)
})

test('results keep their digits and their text', async (t) => {
  const [mock] = await startMocks(t, 1)
  mock.fault('rawResult', { resultText: '{"b":1,"a":"\\u00e9"}' })
  assert.deepEqual(Object.entries(await open(t, connect(t, [mock])).send('web3_any', [])), [['b', 1], ['a', 'é']])
})

test('options of a call hold for every request, and of several chains one must be named', async (t) => {
  const [a, b] = providersOf(await startMocks(t, 2))
  const rpc = createRpcClient({ chains: { one: { chainId: 1, providers: [a] }, two: { chainId: 2, providers: [b] } } })
  t.after(() => rpc.dispose())
  assert.equal(await open(t, waypost(rpc, { FetchRequest, chain: 2 })).send('web3_clientVersion', []), 'mock/b')
  const isRefused = (message) => (error) => error instanceof WaypostError && message.test(error.message)
  assert.throws(() => waypost(rpc, { FetchRequest }), isRefused(/names no chain.*"one", "two"/))
  assert.throws(() => waypost(rpc, { FetchRequest, chain: 3 }), isRefused(/Unknown chain "3"/))
  assert.throws(() => waypost(rpc, { FetchRequest, chain: 1, profile: 'other' }), isRefused(/Unknown profile "other"/))
})

test('after the end of the client its own error says so', async (t) => {
  const rpc = openClient(t, await startMocks(t, 1))
  const provider = open(t, waypost(rpc, { FetchRequest }))
  rpc.dispose()
  const error = await rejection(provider.getBlockNumber())
  assert.ok(error instanceof WaypostError)
  assert.equal(error.reason, 'unavailable')
})
