import assert from 'node:assert/strict'
import test from 'node:test'
import { call, createConfig, createStorage, getBlock, getBlockNumber, getClient, noopStorage, readContract } from '@wagmi/core'
import { defineChain, encodeErrorResult, encodeFunctionResult, parseAbi } from 'viem'
import { base, mainnet } from 'viem/chains'
import { createRpcClient } from 'waypost'
import { waypost } from 'waypost/viem'
import { openClient, rejection } from '../support/client.mjs'
import { providersOf, startMocks, startShared } from '../support/providers.mjs'
import { ACCOUNTS, CHAIN_ID } from '../support/workloads.mjs'

const anvil = defineChain({ id: CHAIN_ID, name: 'anvil', nativeCurrency: mainnet.nativeCurrency, rpcUrls: { default: { http: [] } } })
const storage = createStorage({ storage: noopStorage })
const ABI = parseAbi(['function go() view returns (uint256)', 'error TooLow(uint256 least)'])
const CONTRACT = { address: ACCOUNTS[0].address, abi: ABI, functionName: 'go' }

test('wagmi reads a block and calls, over a dead provider', async (t) => {
  const { proxies } = await startShared(t, 2)
  await proxies[0].refuse()
  const transports = { [anvil.id]: waypost(openClient(t, proxies)) }
  const config = createConfig({ chains: [anvil], transports, storage })
  const { number, hash } = await getBlock(config)
  assert.equal((await getBlock(config, { blockHash: hash })).number, number)
  // Init code that returns its first word, 0x2a.
  const { data } = await call(config, { data: '0x602a60005260206000f3' })
  assert.equal(BigInt(data), 42n)
})

test('one client serves all chains of a wagmi config', async (t) => {
  const [first] = await startMocks(t, 1, { eth_blockNumber: '0x1' })
  const [second] = await startMocks(t, 1, { eth_blockNumber: '0x2' })
  const [a, b] = providersOf([first, second])
  const rpc = createRpcClient({
    chains: { ethereum: { chainId: mainnet.id, providers: [a] }, base: { chainId: base.id, providers: [b] } },
  })
  t.after(() => rpc.dispose())
  const transport = waypost(rpc)
  const config = createConfig({
    chains: [mainnet, base],
    transports: { [mainnet.id]: transport, [base.id]: transport },
    storage,
  })
  assert.equal(await getBlockNumber(config), 1n)
  assert.equal(await getBlockNumber(config, { chainId: base.id }), 2n)
  assert.equal(getClient(config).transport.rpc, rpc)
})

test('wagmi reads a contract, and decodes its revert', async (t) => {
  const result = encodeFunctionResult({ abi: ABI, functionName: 'go', result: 7n })
  const [mock] = await startMocks(t, 1, { eth_call: result })
  const config = createConfig({ chains: [anvil], transports: { [anvil.id]: waypost(openClient(t, [mock])) }, storage })
  assert.equal(await readContract(config, CONTRACT), 7n)
  const data = encodeErrorResult({ abi: ABI, errorName: 'TooLow', args: [8n] })
  mock.fault('rpcError', { code: 3, message: 'execution reverted', data })
  const error = await rejection(readContract(config, CONTRACT))
  assert.deepEqual(error.walk(({ name }) => name === 'ContractFunctionRevertedError').data.args, [8n])
})
