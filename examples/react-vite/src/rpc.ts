import { createRpcClient } from 'waypost'
import { waypost } from 'waypost/viem'
import { createConfig } from 'wagmi'
import { base, mainnet } from 'wagmi/chains'

/** The addresses in a variable of the build, or public ones. */
const addresses = (own: string | undefined, free: string[]): string[] => own?.split(',') ?? free

/** One client for all chains: it learns which provider is quick and which one is down. */
export const rpc = createRpcClient({
  chains: {
    ethereum: {
      chainId: mainnet.id,
      providers: addresses(import.meta.env.VITE_ETHEREUM_RPC, ['https://ethereum-rpc.publicnode.com', 'https://eth.drpc.org']),
    },
    base: {
      chainId: base.id,
      providers: addresses(import.meta.env.VITE_BASE_RPC, ['https://base-rpc.publicnode.com', 'https://base.drpc.org']),
    },
  },
  strategy: 'latency_weighted',
})

const transport = waypost(rpc)

export const config = createConfig({
  chains: [mainnet, base],
  transports: { [mainnet.id]: transport, [base.id]: transport },
})

declare module 'wagmi' {
  interface Register {
    config: typeof config
  }
}
