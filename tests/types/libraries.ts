/** The client, and a provider bound to a chain, are what libraries take. */

import { BrowserProvider } from 'ethers';
import type { Eip1193Provider } from 'ethers';
import { createPublicClient, custom } from 'viem';
import type { CustomTransport, EIP1193Parameters, EIP1474Methods } from 'viem';
import { Web3 } from 'web3';
import { createRpcClient } from 'waypost';
import type { ChainProvider, RpcClient } from 'waypost';
import { createRpcClient as createForPages, init } from 'waypost/web';
import { expectTrue } from './assert.js';
import type { Same } from './assert.js';

const rpc = createRpcClient({ providers: ['https://a.example'] });

function inLibraries(provider: RpcClient | ChainProvider): unknown[] {
  const transport: CustomTransport = custom(provider);
  const eip1193: Eip1193Provider = provider;
  return [createPublicClient({ transport }), new BrowserProvider(eip1193), new Web3(provider)];
}

inLibraries(rpc);
inLibraries(rpc.chain('ethereum'));

// A request as viem writes it, for every method that it knows.
export const forward = (request: EIP1193Parameters<EIP1474Methods>): Promise<unknown> => rpc.request(request);

// @ts-expect-error something without `request` is no provider
custom({ send: rpc.send });

// Both entries give the same client.
expectTrue<Same<ReturnType<typeof createForPages>, RpcClient>>();
void init();
void init(new URL('https://a.example/waypost.wasm'));
