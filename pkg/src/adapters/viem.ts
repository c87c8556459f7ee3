/** `waypost/viem`: the client as a transport of viem and wagmi. */

import type { RpcClient } from '../client.js';
import type { RequestOptions, RpcRequest } from '../types.js';
import type { AdapterOptions } from './options.js';
// viem's actions look into errors of viem's own classes only, so viem has to wrap ours itself.
import { createTransport } from './viem-library.js';

/** Options of {@link waypost}: viem's own for a transport, and those of a call. */
export interface ViemOptions extends AdapterOptions {
  /** Default `waypost`. */
  key?: string;
  /** Default `Waypost`. */
  name?: string;
  /** Methods that this transport takes, or those that it does not. Default: all. */
  methods?: ViemMethods;
  /**
   * How often viem repeats a failed request. Default 0, whatever the viem client says: Waypost has moved on to
   * other providers by then, and each repetition would add its whole deadline once more.
   */
  retryCount?: number;
  /** Milliseconds before viem's first repetition; doubles with each. Default 150. */
  retryDelay?: number;
}

/** viem's filter of methods: one of the two lists. */
export type ViemMethods =
  | { include?: string[] | undefined; exclude?: undefined }
  | { include?: undefined; exclude?: string[] | undefined };

/** viem's `EIP1193RequestFn`. */
export type ViemRequest = <T = unknown>(
  request: { method: string; params?: unknown },
  options?: { signal?: AbortSignal | undefined },
) => Promise<T>;

/** viem's `Transport`. */
export type ViemTransport = (parameters: { chain?: { id: number } | undefined; timeout?: number | undefined }) => {
  config: {
    key: string;
    name: string;
    type: 'waypost';
    request: ViemRequest;
    methods?: ViemMethods | undefined;
    retryCount?: number | undefined;
    retryDelay?: number | undefined;
    timeout?: number | undefined;
  };
  request: ViemRequest;
  /** Becomes part of `transport` of the viem client: `publicClient.transport.rpc.status()`. */
  value: { rpc: RpcClient };
};

/**
 * A transport of viem, and of wagmi, that sends every request through `client`. If the client has several chains, it
 * takes the one whose `chainId` is the `id` of viem's chain.
 *
 * viem is imported as an ES module. Where it is required instead, it does not know the errors of that copy: use
 * viem's own `custom(rpc)` there.
 *
 * @throws when a viem client is made: no chain of `client` has that id
 *
 * @example
 * import { createPublicClient } from 'viem'
 * import { mainnet } from 'viem/chains'
 * import { createRpcClient } from 'waypost'
 * import { waypost } from 'waypost/viem'
 *
 * const rpc = createRpcClient({ providers: ['https://a.example', 'https://b.example'] })
 * const publicClient = createPublicClient({ chain: mainnet, transport: waypost(rpc) })
 *
 * @example
 * import { createConfig } from '@wagmi/core' // or 'wagmi'
 *
 * const config = createConfig({ chains: [mainnet], transports: { [mainnet.id]: waypost(rpc) } })
 */
export function waypost(client: RpcClient, options: ViemOptions = {}): ViemTransport {
  const { key = 'waypost', name = 'Waypost', methods, retryCount = 0, retryDelay, ...call } = options;
  // fallback() of viem makes its transports anew for every request.
  const names = new Map<number, string>();
  return ({ chain, timeout }) => {
    const bound: RequestOptions = { ...(timeout && { deadlineMs: timeout }), ...call, parse: 'json' };
    if (chain !== undefined && call.chain === undefined) {
      const name = names.get(chain.id) ?? chainOf(client, chain.id, call.profile);
      names.set(chain.id, name);
      bound.chain = name;
    }
    const request: ViemRequest = (args, { signal } = {}) =>
      client.request(args as RpcRequest, signal ? { ...bound, signal } : bound);
    return createTransport({ key, name, methods, request, retryCount, retryDelay, type: 'waypost' }, { rpc: client });
  };
}

/** The chain of the client that has this id. An only chain that tells no id is meant by any. */
function chainOf(client: RpcClient, id: number, profile = 'default'): string {
  const { profiles } = client.status();
  const chains = Object.entries(profiles[profile] ?? Object.values(profiles)[0] ?? {});
  for (const [name, { chainId = chains.length === 1 ? id : Number(name) }] of chains) if (chainId === id) return name;
  const list = chains.map(([name, { chainId }]) => `${name} (${chainId ?? 'no chainId'})`).join(', ');
  throw new Error(
    `viem's chain has the id ${id}, and no chain of the client has this chainId. There are: ${list}. ` +
      'Add it, or name one: waypost(rpc, { chain }).',
  );
}
