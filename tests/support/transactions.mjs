import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { ACCOUNTS, CHAIN_ID } from './workloads.mjs'

/** Signs `count` transactions of the first account, with the nonces from 0 on. */
export async function signTransactions(count, { value = 1n } = {}) {
  const account = privateKeyToAccount(ACCOUNTS[0].key)
  const raws = []
  for (let index = 0; index < count; index += 1) {
    raws.push(await account.signTransaction({
      type: 'eip1559', chainId: CHAIN_ID, nonce: index, gas: 21_000n,
      maxFeePerGas: 5_000_000_000n, maxPriorityFeePerGas: 1n, to: ACCOUNTS[1].address, value,
    }))
  }
  return raws
}

/** The hashes that a chain will give these raw transactions. */
export const hashesOf = (raws) => raws.map((raw) => keccak256(raw))

/** Raw transactions that reached a provider again after it had executed them. */
export function sentAgain(proxies) {
  return proxies.flatMap(({ counters }) =>
    counters.transactions.filter(({ raw }, index, all) =>
      all.slice(0, index).some((earlier) => earlier.raw === raw && earlier.executed)))
}

/** The hashes of all transactions of the chain behind `url`, in order. */
export async function chainHashes(url) {
  const ask = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()).result
  }
  const head = Number(await ask('eth_blockNumber', []))
  const hashes = []
  for (let number = 0; number <= head; number += 1) {
    hashes.push(...(await ask('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])).transactions)
  }
  return hashes
}
