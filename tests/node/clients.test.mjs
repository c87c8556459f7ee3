import assert from 'node:assert/strict'
import test from 'node:test'
import { ethers } from 'ethers'
import * as viem from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createRpcClient } from 'waypost'
import { Web3 } from 'web3'
import { providersOf, startShared } from '../support/providers.mjs'
import { GOOD_ROUND, ROUNDS, runRound } from '../support/workloads.mjs'
import { chainHashes, sentAgain } from '../support/transactions.mjs'

const TICKING = { isTicking: true }
const libraries = { viem, privateKeyToAccount, ethers, Web3 }

for (const name of Object.keys(ROUNDS)) {
  test(`${name} takes the client as its provider: it reads, sends and waits for the receipt`, async (t) => {
    const { node, proxies } = await startShared(t, 3, TICKING)
    const rpc = createRpcClient({ providers: providersOf(proxies), strategy: 'load_balanced', seed: 7 })
    t.after(() => rpc.dispose())
    const { hash, receiptHash, ...round } = await runRound(name, rpc, libraries)
    assert.deepEqual(round, GOOD_ROUND)
    assert.equal(receiptHash, hash)
    assert.deepEqual(await chainHashes(node.url), [hash])
    assert.deepEqual(sentAgain(proxies), [])
    const users = proxies.filter(({ counters }) => counters.total > 0)
    assert.ok(users.length > 1, 'the calls are spread over several providers')
  })

  test(`${name} works on while one provider is dead and another one answers nonsense`, async (t) => {
    const { proxies } = await startShared(t, 3, TICKING)
    const rpc = createRpcClient({ providers: providersOf(proxies), strategy: 'load_balanced', seed: 11 })
    t.after(() => rpc.dispose())
    await proxies[0].refuse()
    proxies[1].fault('html')
    // A transaction may only move on when it was certainly not executed, or is raw and signed.
    const { hash, receiptHash, ...round } = await runRound(name, rpc, libraries)
    assert.deepEqual(round, GOOD_ROUND)
    assert.equal(receiptHash, hash)
  })

  test(`${name} takes a provider that is bound to one of several chains`, async (t) => {
    const { proxies } = await startShared(t, 1, TICKING)
    const rpc = createRpcClient({
      chains: {
        other: { chainId: 5, providers: ['http://127.0.0.1:1'] },
        local: { chainId: 31337, aliases: ['anvil'], providers: providersOf(proxies) },
      },
    })
    t.after(() => rpc.dispose())
    const { hash, receiptHash, ...round } = await runRound(name, rpc.chain('anvil'), libraries)
    assert.deepEqual(round, GOOD_ROUND)
  })
}
