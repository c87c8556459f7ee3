// The clients, each as its documentation sets it up: no batching, no cache of answers, everything else default.

import { FallbackProvider, FetchRequest, JsonRpcProvider, Network } from 'ethers'
import { createClient, fallback, http } from 'viem'
import { createRpcClient } from 'waypost'

const ADDRESS = '0x00000000000000000000000000000000000000aa'
export const CALL = { method: 'eth_getBalance', params: [ADDRESS, 'latest'] }

const NETWORK = Network.from(1)
// The static network saves ethers an eth_chainId per call; caching would answer from memory within 250 ms.
const ETHERS = { staticNetwork: NETWORK, batchMaxCount: 1, cacheTimeout: -1 }

const ethersProvider = (url) => new JsonRpcProvider(new FetchRequest(url), NETWORK, ETHERS)

let fetchId = 0

/** Name, and how to make one for some URLs: `call` sends one request, `close` lets go of everything. */
export const contenders = {
  'bare fetch': ([url], send = fetch) => ({
    async call() {
      fetchId += 1
      const body = JSON.stringify({ jsonrpc: '2.0', id: fetchId, ...CALL })
      const response = await send(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      return (await response.json()).result
    },
    close() {},
  }),
  Waypost: (urls, send, options) => {
    const client = createRpcClient({ providers: urls, ...(send && { fetch: send }), ...options })
    return { call: () => client.request(CALL), close: () => client.dispose() }
  },
  'viem http': ([url], send) => {
    const client = createClient({ transport: http(url, { fetchFn: send }) })
    return { call: () => client.request(CALL), close() {} }
  },
  'viem fallback': (urls, send) => {
    const client = createClient({ transport: fallback(urls.map((url) => http(url, { fetchFn: send }))) })
    return { call: () => client.request(CALL), close() {} }
  },
  'ethers JsonRpcProvider': ([url]) => {
    const provider = ethersProvider(url)
    return { call: () => provider.send(CALL.method, CALL.params), close: () => provider.destroy() }
  },
  'ethers FallbackProvider': (urls) => {
    const inner = urls.map(ethersProvider)
    // Quorum 1 is what applications use for failover; the default asks more than half of them.
    const provider = new FallbackProvider(inner, NETWORK, { quorum: 1, cacheTimeout: -1 })
    return { call: () => provider.getBalance(ADDRESS), close: () => inner.forEach((each) => each.destroy()) }
  },
}

export const BASE = 'bare fetch'
export const OWN = 'Waypost'
/** Those that know more than one provider. */
export const withFailover = [OWN, 'viem fallback', 'ethers FallbackProvider']
