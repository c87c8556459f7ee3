/** The HTTP handler: as a Worker, a Deno or Bun server and a service worker write it, and what is misspelt does not compile. */

import { createRpcClient, createRpcHandler, strategiesFromEnv } from 'waypost';
import type { ClientLimit, ClientSource, CorsOption, ExecutionContext, RpcHandler, RpcHandlerOptions, RpcClient, RpcClientOptions } from 'waypost';
import { expectTrue } from './assert.js';
import type { Clean, Same } from './assert.js';

interface Env {
  ETHEREUM_URL: string;
  TOKEN: string;
  LW_BETA?: string;
}

const url = 'https://a.example';
const client = createRpcClient({ providers: [url] });

export const everything: RpcHandlerOptions = {
  cors: ['https://page.example'],
  maxBatch: 50,
  maxBodyBytes: 8_388_608,
  maxSubrequests: 45,
  idleTimeoutMs: 30_000,
  bearerToken: ['one', 'two'] as const,
  clientLimit: { rps: 10, burst: 20, key: (request) => request.headers.get('x-user') ?? '' },
};

export const cors: CorsOption[] = [true, false, '*', 'https://page.example', ['https://page.example']];
export const limit: ClientLimit = { rps: 0.5 };

createRpcHandler(client);
createRpcHandler(client, {});
createRpcHandler(() => client, everything);

const handler = createRpcHandler((env: Env) =>
  createRpcClient({ chains: { ethereum: { providers: [env.ETHEREUM_URL] } }, strategies: strategiesFromEnv(env) }),
);

/** The default export of a Worker, written out and as it is. */
export const worker = { fetch: (request: Request, env: Env, ctx: ExecutionContext): Promise<Response> => handler.fetch(request, env, ctx) };
export const asItIs: RpcHandler = handler;
/** What Deno.serve and a service worker need. */
export const serve: (request: Request) => Promise<Response> = handler.fetch;

export const source: ClientSource = (env: Env) => createRpcClient({ providers: [env.ETHEREUM_URL] });
export const strategies: RpcClientOptions['strategies'] = strategiesFromEnv();

expectTrue<Same<ReturnType<typeof createRpcHandler>, RpcHandler>>();
expectTrue<Same<ReturnType<RpcHandler['fetch']>, Promise<Response>>>();
expectTrue<Same<Extract<ClientSource, RpcClient>, RpcClient>>();
expectTrue<Clean<Omit<RpcHandlerOptions, 'clientLimit'>>>();
expectTrue<Clean<ReturnType<typeof strategiesFromEnv>>>();

// @ts-expect-error without a client there is nothing to serve
createRpcHandler();
// @ts-expect-error options of a client are no client
createRpcHandler({ providers: [url] });
// @ts-expect-error a function must give a client
createRpcHandler((env: Env) => env.ETHEREUM_URL);
// @ts-expect-error a client that comes later is none
createRpcHandler(async () => client);
// @ts-expect-error a misspelt option
createRpcHandler(client, { maxBatches: 5 });
// @ts-expect-error a number written as a string
createRpcHandler(client, { maxBodyBytes: '8mb' });
// @ts-expect-error a limit without a rate
createRpcHandler(client, { clientLimit: { burst: 5 } });
// @ts-expect-error a misspelt member of the limit
createRpcHandler(client, { clientLimit: { rps: 5, bursts: 5 } });
// @ts-expect-error the key of a client is a text
createRpcHandler(client, { clientLimit: { rps: 5, key: () => 7 } });
// @ts-expect-error tokens are texts
createRpcHandler(client, { bearerToken: [7] });
// @ts-expect-error origins are texts
createRpcHandler(client, { cors: [new URL(url)] });
// @ts-expect-error an address is no request
void handler.fetch(url);
