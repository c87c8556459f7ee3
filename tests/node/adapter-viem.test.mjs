import assert from 'node:assert/strict'
import test from 'node:test'
import {
  ContractFunctionRevertedError, createPublicClient, createWalletClient, custom, defineChain, encodeErrorResult, fallback, parseAbi,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base, mainnet, optimism } from 'viem/chains'
import { createRpcClient, WaypostError } from 'waypost'
import { waypost } from 'waypost/viem'
import { openClient, rejection } from '../support/client.mjs'
import { providersOf, startMocks, startShared } from '../support/providers.mjs'
import { chainHashes, sentAgain } from '../support/transactions.mjs'
import { ACCOUNTS, CHAIN_ID } from '../support/workloads.mjs'

const anvil = defineChain({ id: CHAIN_ID, name: 'anvil', nativeCurrency: mainnet.nativeCurrency, rpcUrls: { default: { http: [] } } })
const NAME = { method: 'web3_clientVersion' }
const ABI = parseAbi(['function go() view returns (uint256)', 'error TooLow(uint256 least)'])

/** A client with a chain for each of two mocks, `a` and `b`. */
async function openChains(t, first, second) {
  const mocks = await startMocks(t, 2)
  const [a, b] = providersOf(mocks)
  const rpc = createRpcClient({ chains: { one: { ...first, providers: [a] }, two: { ...second, providers: [b] } } })
  t.after(() => rpc.dispose())
  return rpc
}

const nameBy = (transport, chain) => createPublicClient({ transport, chain }).request(NAME)

test('viem reads, sends and waits through the transport', async (t) => {
  const { node, proxies } = await startShared(t, 3, { isTicking: true })
  await proxies[0].refuse()
  const options = { chain: anvil, transport: waypost(openClient(t, proxies)), pollingInterval: 20 }
  const reader = createPublicClient(options)
  const wallet = createWalletClient({ ...options, account: privateKeyToAccount(ACCOUNTS[0].key) })
  const hash = await wallet.sendTransaction({ to: ACCOUNTS[1].address, value: 1n })
  const { status, blockNumber } = await reader.waitForTransactionReceipt({ hash })
  assert.equal(status, 'success')
  assert.deepEqual((await reader.getBlock({ blockNumber })).transactions, [hash])
  assert.deepEqual(await chainHashes(node.url), [hash])
  assert.deepEqual(sentAgain(proxies), [])
})

test('the client is at hand in the viem client', async (t) => {
  const rpc = openClient(t, await startMocks(t, 1))
  const { transport } = createPublicClient({ transport: waypost(rpc, { key: 'mine', name: 'My nodes' }) })
  const { rpc: found, key, name, type, retryCount } = transport
  assert.deepEqual({ key, name, type, retryCount }, { key: 'mine', name: 'My nodes', type: 'waypost', retryCount: 0 })
  assert.equal(found, rpc)
})

test('of several chains viem gets the one with the id of its own', async (t) => {
  const rpc = await openChains(t, { chainId: mainnet.id }, { chainId: base.id })
  const transport = waypost(rpc)
  assert.equal(await nameBy(transport, mainnet), 'mock/a')
  assert.equal(await nameBy(transport, base), 'mock/b')
  assert.equal(await nameBy(waypost(rpc, { chain: 'one' }), base), 'mock/a')
})

test('a chain may be called by its id', async (t) => {
  const mocks = await startMocks(t, 2)
  const [a, b] = providersOf(mocks)
  const rpc = createRpcClient({ chains: { [mainnet.id]: { providers: [a] }, [base.id]: { providers: [b] } } })
  t.after(() => rpc.dispose())
  assert.equal(await nameBy(waypost(rpc), base), 'mock/b')
})

test('a profile has chains of its own', async (t) => {
  const [a, b] = providersOf(await startMocks(t, 2))
  const profile = (chain, provider) => ({ chains: { [chain]: { chainId: mainnet.id, providers: [provider] } } })
  const rpc = createRpcClient({ profiles: { default: profile('ethereum', a), spare: profile('main', b) } })
  t.after(() => rpc.dispose())
  assert.equal(await nameBy(waypost(rpc), mainnet), 'mock/a')
  assert.equal(await nameBy(waypost(rpc, { profile: 'spare' }), mainnet), 'mock/b')
})

test('a chain that the client does not have is refused when the viem client is made', async (t) => {
  const rpc = await openChains(t, { chainId: mainnet.id }, {})
  assert.throws(() => createPublicClient({ chain: optimism, transport: waypost(rpc) }), {
    message: "viem's chain has the id 10, and no chain of the client has this chainId. There are: one (1), two (no chainId). " +
      'Add it, or name one: waypost(rpc, { chain }).',
  })
})

test('an only chain works as it is, unless it is known to be another', async (t) => {
  const mocks = await startMocks(t, 1)
  assert.equal(await nameBy(waypost(openClient(t, mocks)), optimism), 'mock/a')
  const rpc = createRpcClient({ chains: { ethereum: { chainId: 1, providers: providersOf(mocks) } } })
  t.after(() => rpc.dispose())
  assert.equal(await nameBy(waypost(rpc)), 'mock/a')
  assert.throws(() => createPublicClient({ chain: optimism, transport: waypost(rpc) }), /has the id 10.*ethereum \(1\)/)
})

test('options of a call hold for every request', async (t) => {
  const transport = waypost(openClient(t, await startMocks(t, 2)), { provider: 'b' })
  assert.equal(await nameBy(transport, mainnet), 'mock/b')
})

for (const [retryCount, times] of [[undefined, 1], [1, 2]]) {
  test(`an error that viem would repeat is sent ${times} times with a retryCount of ${retryCount}`, async (t) => {
    const [mock] = await startMocks(t, 1)
    mock.fault('rpcError', { code: -32603, message: "VM Exception while processing transaction: reverted with reason string 'nope'" })
    const transport = waypost(openClient(t, [mock]), retryCount === undefined ? {} : { retryCount, retryDelay: 1 })
    const error = await rejection(createPublicClient({ transport }).request({ method: 'eth_call', params: [{}] }))
    assert.equal(error.name, 'InternalRpcError')
    assert.equal(mock.counters.of('eth_call'), times)
  })
}

for (const [name, wrap] of Object.entries({ waypost, custom })) {
  test(`viem does not send again what may have been executed, through ${name}()`, async (t) => {
    const [mock] = await startMocks(t, 1)
    mock.fault('resetAfterForward')
    const transport = wrap(openClient(t, [mock]), { retryCount: 3, retryDelay: 1 })
    const error = await rejection(createPublicClient({ transport }).request({ method: 'eth_sendTransaction', params: [{}] }))
    assert.deepEqual([error.name, error.cause.reason], ['ChainDisconnectedError', 'indeterminate'])
    assert.equal(mock.counters.of('eth_sendTransaction'), 1)
  })
}

test('without an answer the error is the one for a provider that is not connected, with ours as its cause', async (t) => {
  const mocks = await startMocks(t, 2)
  for (const mock of mocks) mock.fault('status', { status: 503 })
  const rpc = openClient(t, mocks, { maxAttempts: 2 })
  const error = await rejection(createPublicClient({ transport: waypost(rpc) }).getBlockNumber())
  const { name, cause } = error.walk(({ code }) => code === 4900)
  assert.equal(name, 'ProviderDisconnectedError')
  assert.ok(cause instanceof WaypostError)
  assert.deepEqual(cause.attempts.map(({ provider, class: kind }) => [provider, kind]), [['a', 'server'], ['b', 'server']])
})

test('a revert is decoded by the ABI', async (t) => {
  const [mock] = await startMocks(t, 1)
  const data = encodeErrorResult({ abi: ABI, errorName: 'TooLow', args: [42n] })
  mock.fault('rpcError', { code: 3, message: 'execution reverted', data })
  const reader = createPublicClient({ chain: mainnet, transport: waypost(openClient(t, [mock])) })
  const error = await rejection(reader.readContract({ address: ACCOUNTS[0].address, abi: ABI, functionName: 'go' }))
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  assert.deepEqual([revert.data.errorName, revert.data.args], ['TooLow', [42n]])
})

test('methods are included and excluded as viem says', async (t) => {
  const rpc = openClient(t, await startMocks(t, 1))
  const ask = (methods) => createPublicClient({ transport: waypost(rpc, { methods }) }).request(NAME)
  assert.equal(await ask({ include: ['web3_clientVersion'] }), 'mock/a')
  assert.equal(await ask({ exclude: ['eth_call'] }), 'mock/a')
  assert.equal((await rejection(ask({ include: ['eth_call'] }))).name, 'MethodNotSupportedRpcError')
  assert.equal((await rejection(ask({ exclude: ['web3_clientVersion'] }))).name, 'MethodNotSupportedRpcError')
})

test('a signal reaches the provider', async (t) => {
  const [mock] = await startMocks(t, 1)
  mock.fault('hang')
  const rpc = openClient(t, [mock])
  const ended = new Promise((resolve) => rpc.on('request', ({ outcome }) => resolve(outcome)))
  const client = createPublicClient({ transport: waypost(rpc) })
  const controller = new AbortController()
  const reason = new Error('left the page')
  const pending = rejection(client.request(NAME, { signal: controller.signal }))
  await mock.counters.until(({ total }) => total === 1)
  controller.abort(reason)
  assert.equal(await pending, reason)
  assert.equal(await ended, 'aborted')
  await mock.counters.until(({ aborted }) => aborted === 1)
})

test("viem's timeout for a transport is the deadline", async (t) => {
  const [mock] = await startMocks(t, 1)
  mock.fault('hang')
  const { request } = waypost(openClient(t, [mock]))({ timeout: 50 })
  const { cause } = await rejection(request(NAME))
  assert.equal(cause.reason, 'deadline')
})

test('it is one of the transports of fallback()', async (t) => {
  const [dead] = await startMocks(t, 1)
  await dead.refuse()
  const spare = custom({ request: async () => 'spare' })
  assert.equal(await nameBy(fallback([waypost(openClient(t, [dead])), spare]), mainnet), 'spare')
})
