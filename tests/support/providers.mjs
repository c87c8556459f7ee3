import { startAnvil } from './anvil.mjs'
import { startProxy } from './fault-proxy.mjs'

const IDS = 'abcdefghijkl'

/** Options of `createRpcClient` for these proxies, named a, b, c … */
export const providersOf = (proxies) => proxies.map((proxy, index) => ({ id: IDS[index], url: proxy.url }))

/** Proxies that each front an anvil of their own: a provider can die as a process. */
export async function startPool(t, count = 3) {
  const nodes = await Promise.all(Array.from({ length: count }, () => startAnvil(t)))
  const proxies = await Promise.all(nodes.map((node) => startProxy(t, node.url)))
  return { nodes, proxies }
}

/** Proxies that all front one anvil: they agree on transactions and receipts. */
export async function startShared(t, count = 3, nodeOptions = {}) {
  const node = await startAnvil(t, nodeOptions)
  const proxies = await Promise.all(Array.from({ length: count }, () => startProxy(t, node.url)))
  return { node, proxies }
}

const MOCK_RESULTS = {
  eth_chainId: '0x7a69',
  eth_blockNumber: '0x10',
  eth_getBalance: '0x64',
  eth_gasPrice: '0x1',
  eth_call: '0x',
}

/** Proxies over a fixed table of results, which name their provider in `web3_clientVersion`. */
export function startMocks(t, count = 2, results = {}) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const table = { web3_clientVersion: `mock/${IDS[index]}`, ...MOCK_RESULTS, ...results }
      return startProxy(t, ({ method }) => table[method] ?? null)
    }),
  )
}
