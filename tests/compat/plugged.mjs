import { spyStrategy } from '../support/fake-gateways.mjs'
import { IDS } from '../support/gateway.mjs'
import { importInstalled } from './installed.mjs'
import { World, failure, outcome } from './world.mjs'

const nothing = () => {}
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** How users make each strategy; `provider` is what knows the gateways. */
const STRATEGIES = {
  RandomRoutingStrategy: (lib, { provider }) => ({ gatewaysProvider: provider }),
  StaticRoutingStrategy: (lib, { url }) => ({ gateway: url.href }),
  RoundRobinRoutingStrategy: (lib, { provider }) => ({ gatewaysProvider: provider }),
  FastestPingRoutingStrategy: (lib, { provider }) => ({ gatewaysProvider: provider }),
  PingRoutingStrategy: (lib, { provider }) => ({
    gatewaysProvider: provider,
    routingStrategy: new lib.RandomRoutingStrategy({ logger: SILENT }),
  }),
  PreferredWithFallbackRoutingStrategy: (lib, { provider, url }) => ({
    preferredGateway: url.href,
    fallbackStrategy: new lib.FastestPingRoutingStrategy({ logger: SILENT, gatewaysProvider: provider }),
  }),
  SimpleCacheRoutingStrategy: (lib, { provider }) => ({
    routingStrategy: new lib.FastestPingRoutingStrategy({ logger: SILENT, gatewaysProvider: provider }),
  }),
  CompositeRoutingStrategy: (lib, { provider }) => ({
    strategies: [spyStrategy(failure('down')), new lib.RandomRoutingStrategy({ logger: SILENT, gatewaysProvider: provider })],
  }),
}

const OURS_ALONE = Object.fromEntries(
  ['LoadBalancedRoutingStrategy', 'FastestRoutingStrategy', 'LatencyWeightedRoutingStrategy', 'PriorityRoutingStrategy', 'AdaptiveRoutingStrategy']
    .map((name) => [name, STRATEGIES.RandomRoutingStrategy]),
)

const registryOf = ({ hostname, port }) => ({
  getGateways: async () => ({
    items: [{ status: 'joined', operatorStake: 1, totalDelegatedStake: 1, settings: { protocol: 'http', fqdn: hostname, port } }],
    hasMore: false,
  }),
})

/** How users make each provider. */
const PROVIDERS = {
  StaticGatewaysProvider: (lib, { url }) => ({ gateways: [url.href] }),
  TrustedPeersGatewaysProvider: (lib, { peer }) => ({ trustedGateway: peer.href }),
  NetworkGatewaysProvider: (lib, { url }) => ({ ario: registryOf(url) }),
  SimpleCacheGatewaysProvider: (lib, { provider }) => ({ gatewaysProvider: provider }),
  CompositeGatewaysProvider: (lib, { provider }) => ({ providers: [provider] }),
}

const COMMON = { logger: SILENT, fetch: (...given) => globalThis.fetch(...given) }

/** How users hand a strategy to a client. */
const CLIENTS = {
  createWayfinderClient: (lib, routingStrategy) => lib.createWayfinderClient({ ...COMMON, routingStrategy }),
  Wayfinder: (lib, strategy) => new lib.Wayfinder({ ...COMMON, routingSettings: { strategy } }),
}

function make(lib, name, options, place) {
  if (lib[name] === undefined) throw new Error(`there is no ${name}`)
  return new lib[name]({ logger: SILENT, ...options(lib, place) })
}

/** A request for a known text and where its URL leads, with what `strategyOf` makes in a client of `to`. */
async function tryOut(from, to, name, strategyOf) {
  const trials = []
  for (const [kind, clientOf] of Object.entries(CLIENTS)) {
    const world = new World()
    const { url } = await world.gateway('a')
    const peer = await world.gateway('peers', undefined, { peers: [url.href] })
    const place = { url, peer: peer.url, provider: new from.lib.StaticGatewaysProvider({ gateways: [url.href] }) }
    const client = () => clientOf(to.lib, strategyOf(place))
    const served = await outcome(async () => (await (await client().request(`ar://${IDS.text}`)).text()).trim())
    const resolved = await outcome(async () => (await client().resolveUrl({ txId: IDS.text })).href.replace(url.host, 'gateway'))
    await world.close()
    const isGood = served === 'hello permaweb' && resolved === `http://gateway/${IDS.text}`
    trials.push({ isGood, cells: [`${from.name}: ${name}`, `${to.name}: ${kind}`, served, resolved] })
  }
  return trials
}

/** Every strategy and provider of each package in the clients of the other one. */
export async function plugged(theirs, ours) {
  const packages = []
  for (const name of [theirs, ours]) packages.push({ name, lib: await importInstalled(name) })
  const [their, our] = packages
  const trials = []
  for (const [from, to, strategies] of [[their, our, STRATEGIES], [our, their, { ...STRATEGIES, ...OURS_ALONE }]]) {
    for (const [name, options] of Object.entries(strategies)) {
      trials.push(...(await tryOut(from, to, name, (place) => make(from.lib, name, options, place))))
    }
    for (const [name, options] of Object.entries(PROVIDERS)) {
      const strategyOf = (place) =>
        new to.lib.RandomRoutingStrategy({ logger: SILENT, gatewaysProvider: make(from.lib, name, options, place) })
      trials.push(...(await tryOut(from, to, name, strategyOf)))
    }
  }
  return trials
}
