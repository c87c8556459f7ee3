/** Answers JSON-RPC under /rpc/ of its own origin, from whichever provider is best. */

import { createRpcClient, createRpcHandler } from 'waypost'

const client = createRpcClient({
  chains: {
    ethereum: { chainId: 1, providers: ['https://ethereum-rpc.publicnode.com', 'https://eth.drpc.org', 'https://1rpc.io/eth'] },
    base: { chainId: 8453, providers: ['https://base-rpc.publicnode.com', 'https://mainnet.base.org', 'https://base.drpc.org'] },
  },
  strategy: 'latency_weighted',
})
const handler = createRpcHandler(client, { cors: false })

addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => event.waitUntil(clients.claim()))
addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (origin === location.origin && pathname.startsWith('/rpc/')) event.respondWith(handler.fetch(event.request))
})
