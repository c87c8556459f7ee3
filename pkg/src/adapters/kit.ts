/** `waypost/kit`: the client as a transport of `@solana/kit`. */

import type { RpcClient } from '../client.js';
import type { RpcError } from '../errors.js';
import type { JsonRpcRequest } from '../types.js';
import type { AdapterOptions } from './options.js';

/** Options of {@link waypost}: those of a call. */
export type KitOptions = AdapterOptions;

/** Kit's `RpcTransport`. */
export type KitTransport = <Response>(request: Readonly<{ payload: unknown; signal?: AbortSignal }>) => Promise<Response>;

/** Writes digits into JSON as they are. Node has it from version 22 on. */
const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/**
 * A transport of `@solana/kit` that sends every request through `client`. Integers lose no digits: those of params may be
 * `bigint`, and those of answers are where a number cannot hold them. Errors of providers are left to kit, which makes
 * a `SolanaError` of them; where no provider answers, the promise rejects with a `WaypostError`.
 *
 * @example
 * import { createSolanaRpcFromTransport } from '@solana/kit'
 * import { createRpcClient } from 'waypost'
 * import { waypost } from 'waypost/kit'
 *
 * const client = createRpcClient({ providers: ['https://a.example', 'https://b.example'] })
 * const rpc = createSolanaRpcFromTransport(waypost(client))
 * const slot = await rpc.getSlot().send()
 */
export function waypost(client: RpcClient, options: KitOptions = {}): KitTransport {
  return async <Response>({ payload, signal }: { payload: unknown; signal?: AbortSignal }): Promise<Response> => {
    const { id, method, params = [] } = payload as JsonRpcRequest;
    const envelope = { jsonrpc: '2.0', id };
    try {
      const request = { method, params: mapLeaves(params, written) as object };
      const result = await client.request(request, { ...options, ...(signal && { signal }), parse: 'bigint' });
      return { ...envelope, result } as Response;
    } catch (error) {
      // As fetch() has it, and with it kit's own transport.
      if (signal?.aborted === true) throw signal.reason;
      if (!isRpcError(error)) throw error;
      const { code, message, data } = error;
      // Kit looks for integers in results only. In what comes with an error its own transport makes all of them `bigint`.
      return { ...envelope, error: { code, message, ...(data !== undefined && { data: mapLeaves(data, exact) }) } } as Response;
    }
  };
}

/** By its name: the class is in the entry that made the client, of which there are several. */
const isRpcError = (error: unknown): error is RpcError => error instanceof Error && error.name === 'RpcError';

/** A bigint as JSON can have it, or as it is: the client refuses it with a reason. */
function written(leaf: unknown): unknown {
  if (typeof leaf !== 'bigint') return leaf;
  return Number.isSafeInteger(Number(leaf)) ? Number(leaf) : (rawJSON?.(String(leaf)) ?? leaf);
}

const exact = (leaf: unknown): unknown => (Number.isInteger(leaf) ? BigInt(leaf as number) : leaf);

function mapLeaves(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapLeaves(item, change)]));
}
