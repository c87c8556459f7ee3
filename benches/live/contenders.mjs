// The clients, each as its documentation sets it up: no batching, no cache of answers, everything else default.

import { circuitBreaker, ConsecutiveBreaker, ExponentialBackoff, handleAll, retry, timeout, TimeoutStrategy, wrap } from 'cockatiel'
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

const post = (send, url, signal) => {
  fetchId += 1
  const body = JSON.stringify({ jsonrpc: '2.0', id: fetchId, ...CALL })
  return send(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal })
}

/** Without a strategy it is the default one, or `priority` for an order. */
export const waypost = (strategy) => (urls, { send, isInOrder } = {}) => {
  const wanted = strategy ?? (isInOrder ? 'priority' : undefined)
  const client = createRpcClient({ providers: urls, ...(send && { fetch: send }), ...(wanted && { strategy: wanted }) })
  return { call: () => client.request(CALL), close: () => client.dispose() }
}

const viemFallback = (rank) => (urls, { send } = {}) => {
  let isClosed = false
  // Pings never end otherwise.
  const fetchFn = (...call) => (isClosed ? Promise.reject(new Error('closed')) : (send ?? fetch)(...call))
  const transport = fallback(urls.map((url) => http(url, { fetchFn: rank ? fetchFn : send })), { rank })
  const client = createClient({ transport })
  return {
    call: () => client.request(CALL),
    close() {
      isClosed = true
    },
  }
}

/** What many write themselves: a breaker and a timeout per provider, and a retry around the list. */
function cockatiel(urls, { send = fetch } = {}) {
  // Numbers and policies of its documentation.
  const providers = urls.map((url) => {
    const breaker = circuitBreaker(handleAll, { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(5) })
    return { url, policy: wrap(breaker, timeout(2000, TimeoutStrategy.Aggressive)) }
  })
  const ask = async (url, signal) => {
    const response = await post(send, url, signal)
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    const { result, error } = await response.json()
    if (error !== undefined) throw new Error(error.message)
    return result
  }
  const inTurn = async () => {
    let last
    for (const { url, policy } of providers) {
      try {
        return await policy.execute(({ signal }) => ask(url, signal))
      } catch (error) {
        last = error
      }
    }
    throw last
  }
  const again = retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() })
  return { call: () => again.execute(inTurn), close() {} }
}

/**
 * Name, and how to make one for some URLs: `call` sends one request, `close` lets go of everything. It sends with
 * `send` if that is given and possible; `isInOrder` asks it to prefer the URLs in this order.
 */
export const contenders = {
  'bare fetch': ([url], { send = fetch } = {}) => ({
    async call() {
      const response = await post(send, url)
      return (await response.json()).result
    },
    close() {},
  }),
  Waypost: waypost(),
  'viem http': ([url], { send } = {}) => {
    const client = createClient({ transport: http(url, { fetchFn: send }) })
    return { call: () => client.request(CALL), close() {} }
  },
  'viem fallback': viemFallback(false),
  'viem fallback, ranked': viemFallback(true),
  'ethers JsonRpcProvider': ([url]) => {
    const provider = ethersProvider(url)
    return { call: () => provider.send(CALL.method, CALL.params), close: () => provider.destroy() }
  },
  'ethers FallbackProvider': (urls, { isInOrder } = {}) => {
    const inner = urls.map(ethersProvider)
    const ordered = inner.map((provider, index) => ({ provider, priority: index + 1 }))
    // Quorum 1 is what applications use for failover; the default asks more than half of them.
    const provider = new FallbackProvider(isInOrder ? ordered : inner, NETWORK, { quorum: 1, cacheTimeout: -1 })
    return { call: () => provider.getBalance(ADDRESS), close: () => inner.forEach((each) => each.destroy()) }
  },
  'fetch + cockatiel': cockatiel,
}

export const BASE = 'bare fetch'
export const OWN = 'Waypost'
/** Those that know more than one provider. */
export const withFailover = [OWN, 'viem fallback', 'viem fallback, ranked', 'ethers FallbackProvider', 'fetch + cockatiel']
