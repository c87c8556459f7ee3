/** A JSON-RPC endpoint with Lasso's paths, over the providers that `profiles/*.yml` name. */

import { createRpcClient, createRpcHandler, durableObjectStore, strategiesFromEnv } from 'waypost'
import { fillIn } from './bindings.js'
import profiles from './profiles.json'

// The handler calls this once and keeps the client, which learns who is quick and who is down.
const makeClient = (env) => createRpcClient({ profiles: fillIn(profiles, env), strategies: strategiesFromEnv(env) })

// What one isolate learns, the others know within seconds.
const handler = createRpcHandler(makeClient, { store: (env) => durableObjectStore(env.STATE) })

export { WaypostState } from 'waypost'
export default { fetch: handler.fetch }
