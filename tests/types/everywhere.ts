/** All entries at once, without any library: `tests/node/types.test.mjs` compiles it as projects of several kinds do. */

import { createRpcClient, createRpcHandler, createWayfinderClient } from 'waypost';
import type { ClientEvents, RpcHandlerOptions, WaypostErrorReason } from 'waypost';
import { waypost as forEthers } from 'waypost/ethers';
import { waypost as forKit } from 'waypost/kit';
import { waypost as forViem } from 'waypost/viem';
import module from 'waypost/wasm';
import { init } from 'waypost/web';

await init(module);
const rpc = createRpcClient({ providers: ['https://a.example'] });
export const everything = [createRpcHandler(rpc), createWayfinderClient(), forEthers, forKit(rpc), forViem(rpc)];
export type Everything = [ClientEvents, RpcHandlerOptions, WaypostErrorReason];
