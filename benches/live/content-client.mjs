// Run by content.mjs: sends requests with the one package that it is told to load.

import { register } from 'node:module'
import { answerWith } from './content-process.mjs'

const ADDRESS = 'ar://bench/page'

// @ar.io/wayfinder-core imports axios and does not depend on it; only uploads would call it.
const WITHOUT_AXIOS = `export const resolve = (name, context, next) =>
  name === 'axios' ? { url: 'data:text/javascript,export default undefined', shortCircuit: true } : next(name, context)`

let peers = []
const { fetch } = globalThis
/** The list that clients without options ask for; everything else is on loopback. */
globalThis.fetch = async (input, init) => {
  if (!String(input).startsWith('https://turbo-gateway.com/')) return fetch(input, init)
  return Response.json({ gateways: Object.fromEntries(peers.map((url, index) => [`peer-${index}`, { url }])) })
}

const none = () => {}
// By default one of the packages writes to the console at every step, which is slow.
const logger = { debug: none, info: none, warn: none, error: none }

const routed = (make) => (lib, urls) => {
  const gatewaysProvider = new lib.StaticGatewaysProvider({ gateways: urls, logger })
  return lib.createWayfinderClient({ logger, routingStrategy: make(lib, { gatewaysProvider, logger }, urls) })
}

const fastestPing = (lib, options) => new lib.FastestPingRoutingStrategy(options)
const random = (lib, options) => new lib.RandomRoutingStrategy(options)

const CLIENTS = {
  Static: routed(({ StaticRoutingStrategy }, _, [gateway]) => new StaticRoutingStrategy({ gateway, logger })),
  Random: routed(random),
  FastestPing: routed(fastestPing),
  'Ping(Random)': routed((lib, options) => new lib.PingRoutingStrategy({ ...options, routingStrategy: random(lib, options) })),
  'SimpleCache(FastestPing)': routed((lib, options) =>
    new lib.SimpleCacheRoutingStrategy({ routingStrategy: fastestPing(lib, options), logger }),
  ),
  Fastest: routed((lib, options) => new lib.FastestRoutingStrategy(options)),
  'createWayfinderClient()': (lib) => lib.createWayfinderClient({ logger }),
  'new Wayfinder()': (lib) => new lib.Wayfinder({ logger }),
}

const bare = { request: (url) => globalThis.fetch(url) }

const [name] = process.argv.slice(2)
if (name === '@ar.io/wayfinder-core') register(`data:text/javascript,${encodeURIComponent(WITHOUT_AXIOS)}`)
const lib = name === 'bare fetch' ? undefined : await import(name)

let kept

/** Milliseconds until the body begins, and the gateway that it came from if that was a success. */
async function timed(client, address) {
  const started = performance.now()
  let ms
  try {
    const response = await client.request(address)
    for await (const _ of response.body) ms ??= performance.now() - started
    return { ms, port: response.ok ? Number(response.headers.get('x-port')) : undefined }
  } catch {
    return { ms: performance.now() - started }
  }
}

/** One request after the other, by a new client or by the one that was kept. */
async function serve({ kind, urls, requests, isKept = false }) {
  peers = urls
  const client = (isKept && kept) || (lib ? CLIENTS[kind](lib, urls) : bare)
  kept = client
  const address = lib ? ADDRESS : `${urls[0]}/page`
  const taken = []
  const before = process.cpuUsage()
  for (let count = 0; count < requests; count += 1) taken.push(await timed(client, address))
  const { user, system } = process.cpuUsage(before)
  return { taken, cpu: (user + system) / requests }
}

answerWith({ serve })
