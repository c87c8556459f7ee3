/** The adapters: what each gives is what its library takes, and what is misspelt does not compile. */

import { createSolanaRpcFromTransport } from '@solana/kit';
import type { RpcTransport } from '@solana/kit';
import { createConfig, getBlockNumber } from '@wagmi/core';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import type { FetchGetUrlFunc } from 'ethers';
import { createPublicClient, createWalletClient, fallback, http } from 'viem';
import type { Block, Transport } from 'viem';
import { base, mainnet } from 'viem/chains';
import { createRpcClient } from 'waypost';
import type { RpcClient } from 'waypost';
import { waypost as forEthers } from 'waypost/ethers';
import type { EthersFetchRequest, EthersOptions } from 'waypost/ethers';
import { waypost as forKit } from 'waypost/kit';
import type { KitOptions, KitTransport } from 'waypost/kit';
import { waypost as forViem } from 'waypost/viem';
import type { ViemOptions, ViemTransport } from 'waypost/viem';
import { createRpcClient as createForPages } from 'waypost/web';
import { expectTrue } from './assert.js';
import type { Clean, Same } from './assert.js';

const rpc = createRpcClient({ providers: ['https://a.example'] });
const call = { chain: 1, profile: 'default', strategy: 'fastest', provider: 'a', failoverOnOverride: true, deadlineMs: 500 } as const;

// viem
export const transport: Transport = forViem(rpc);
export const named: Transport<'waypost', { rpc: RpcClient }> = forViem(rpc);
export const viemOptions: ViemOptions = { ...call, key: 'mine', name: 'Mine', retryCount: 1, retryDelay: 10, methods: { exclude: ['eth_call'] } };
const reader = createPublicClient({ chain: mainnet, transport: forViem(rpc, viemOptions) });
const block = await reader.getBlock();
expectTrue<Same<(typeof block)['number'], bigint>>();
export const seen: Block = block;
expectTrue<Same<typeof reader.transport.rpc, RpcClient>>();
expectTrue<Same<typeof reader.transport.type, 'waypost'>>();
expectTrue<Same<Awaited<ReturnType<typeof reader.getBlockNumber>>, bigint>>();
createWalletClient({ chain: base, transport: fallback([forViem(rpc), http()]) });
// Either entry makes clients that the adapters take.
forViem(createForPages({ providers: ['https://a.example'] }));

// @ts-expect-error options of a client are no client
forViem({ providers: ['https://a.example'] });
// @ts-expect-error a misspelt option
forViem(rpc, { retries: 1 });
// @ts-expect-error methods are included or excluded
forViem(rpc, { methods: { include: ['eth_call'], exclude: ['eth_call'] } });
// @ts-expect-error viem needs results as values
forViem(rpc, { parse: 'raw' });
// @ts-expect-error a signal belongs to one request
forViem(rpc, { signal: AbortSignal.timeout(1) });

// wagmi
export const config = createConfig({
  chains: [mainnet, base],
  transports: { [mainnet.id]: forViem(rpc), [base.id]: forViem(rpc, { chain: 'base' }) },
});
expectTrue<Same<Awaited<ReturnType<typeof getBlockNumber<typeof config, 1>>>, bigint>>();

// ethers
const connection = forEthers(rpc, { FetchRequest, ...call });
expectTrue<Same<typeof connection, FetchRequest>>();
new JsonRpcProvider(connection, 1, { staticNetwork: true });
export const getUrl: FetchGetUrlFunc = connection.getUrlFunc;
export const written: FetchGetUrlFunc = (request) => ({}) as ReturnType<EthersFetchRequest['getUrlFunc']>;
export const ethersOptions: EthersOptions<FetchRequest> = { FetchRequest };

// @ts-expect-error the class of ethers is needed
forEthers(rpc);
// @ts-expect-error another class
forEthers(rpc, { FetchRequest: Request });
// @ts-expect-error a misspelt option
forEthers(rpc, { FetchRequest, deadline: 5 });

// @solana/kit
export const kitTransport: RpcTransport = forKit(rpc);
export const kitOptions: KitOptions = call;
const solana = createSolanaRpcFromTransport(forKit(rpc, { chain: 'solana' }));
const slot = await solana.getSlot().send();
expectTrue<Same<typeof slot, bigint>>();

// @ts-expect-error kit has its own way of reading
forKit(rpc, { parse: 'json' });
// @ts-expect-error a payload is needed
void forKit(rpc)({});

expectTrue<Clean<ViemTransport>>();
expectTrue<Clean<ViemOptions>>();
expectTrue<Clean<KitTransport>>();
expectTrue<Clean<KitOptions>>();
expectTrue<Clean<EthersFetchRequest>>();
