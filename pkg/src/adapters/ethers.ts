/** `waypost/ethers`: the client as the connection of an ethers provider. */

import type { RpcClient } from '../client.js';
import type { JsonRpcRequest, JsonRpcResponse } from '../types.js';
import type { AdapterOptions } from './options.js';

/** What is needed of ethers' `FetchRequest`. */
export interface EthersFetchRequest {
  getUrlFunc(request: { readonly body: Uint8Array | null }): Promise<{
    statusCode: number;
    statusMessage: string;
    headers: Record<string, string>;
    body: Uint8Array | null;
  }>;
}

/** Options of {@link waypost}: the class of ethers, and those of a call. */
export interface EthersOptions<Request extends EthersFetchRequest> extends AdapterOptions {
  /** ethers' own class: handed in, so that it is the one of your copy of ethers. */
  FetchRequest: new (url: string) => Request;
}

/** Ours among the codes of errors: no provider answered, or it is not known whether one did. */
const FAILURES = [4900, 4901];

/**
 * The connection of a `JsonRpcProvider` of ethers that sends every request, and every batch, through `client`. Errors of
 * providers become ethers' own (`CALL_EXCEPTION`, `INSUFFICIENT_FUNDS` …), as with any URL. Where no provider answers,
 * ethers sees a server that is down: `SERVER_ERROR`, with the attempts in `info.responseBody`.
 *
 * A `BrowserProvider` takes the client as well, but sends no batches, and takes a call without an answer for a revert.
 *
 * @throws WaypostError there is no such chain, or there are several and none is named
 *
 * @example
 * import { FetchRequest, JsonRpcProvider } from 'ethers'
 * import { createRpcClient } from 'waypost'
 * import { waypost } from 'waypost/ethers'
 *
 * const rpc = createRpcClient({ providers: ['https://a.example', 'https://b.example'] })
 * const provider = new JsonRpcProvider(waypost(rpc, { FetchRequest }), 1, { staticNetwork: true })
 */
export function waypost<Request extends EthersFetchRequest>(client: RpcClient, options: EthersOptions<Request>): Request {
  const { FetchRequest, ...call } = options;
  const { chain, profile } = call;
  // A wrong name would else be found by ethers' search for its network, which never ends.
  client.explain({ method: 'eth_chainId', ...(chain !== undefined && { chain }), ...(profile !== undefined && { profile }) });
  const connection = new FetchRequest('https://waypost.invalid');
  connection.getUrlFunc = async ({ body }) => {
    const requests = JSON.parse(new TextDecoder().decode(body ?? undefined)) as JsonRpcRequest;
    const { response } = await client.send(requests, { ...call, parse: 'raw' });
    return answer(response);
  };
  return connection;
}

function answer(response: JsonRpcResponse | JsonRpcResponse[]): Awaited<ReturnType<EthersFetchRequest['getUrlFunc']>> {
  const answers = [response].flat();
  const isFailed = ({ error }: JsonRpcResponse): boolean => error !== undefined && FAILURES.includes(error.code);
  const isDown = answers.every(isFailed);
  // In a batch, ethers would take an error with its id for a revert; without one it finds that the answer is missing.
  const texts = answers.map((each) => write(isFailed(each) ? { ...each, id: null } : each));
  return {
    statusCode: isDown ? 503 : 200,
    statusMessage: (isDown && answers[0]?.error?.message) || 'OK',
    headers: { 'content-type': 'application/json' },
    body: new TextEncoder().encode(Array.isArray(response) ? `[${texts.join(',')}]` : texts[0]),
  };
}

/** A response as text, with the result as the provider wrote it. */
function write({ id, result, error }: JsonRpcResponse): string {
  const envelope = JSON.stringify({ jsonrpc: '2.0', id, error });
  return error === undefined ? `${envelope.slice(0, -1)},"result":${String(result)}}` : envelope;
}
