import { countedProvider, spyStrategy } from '../../support/fake-gateways.mjs'
import { DOWN, GOOD, HANG, RESET, failure, inTurn, outcome, pause, says, slow, soon, urlsOf } from '../world.mjs'
import { better, same } from './scenario.mjs'

const GATEWAY = 'https://a.test'
const A = new URL(GATEWAY)
const B = new URL('https://b.test')

const heads = (gateways) => gateways.map((gateway) => `${gateway.name}:${gateway.counters.of('HEAD')}`).join(' ')
const asked = ({ counters }) => `${Object.keys(counters.hits)} ${counters.targets}`
const failing = (text) => spyStrategy(failure(text))

/** Makes the strategy and lets it choose once; answers with the name of the gateway, or the error. */
const choose = (make, params) => async ({ lib, world }) =>
  outcome(async () => world.name(await make(lib, world).selectGateway(params)))

/** Several choices of one strategy, one after the other. */
const repeat = async (world, strategy, times, params = {}) => {
  const names = []
  for (let turn = 0; turn < times; turn += 1) names.push(await outcome(() => strategy.selectGateway(params), world.name))
  return names.join(' ')
}

const NAMES = 'static random round-robin fastest-ping ping preferred-with-fallback simple-cache composite'
const FIELDS = 'retries 5, timeoutMs 1000, inner static, preferred https://a.test/, fallback fastest-ping'

const names = [
  same('names of the classes', NAMES, ({ lib }) => {
    const inner = new lib.StaticRoutingStrategy({ gateway: GATEWAY })
    const all = [
      inner,
      new lib.RandomRoutingStrategy({}),
      new lib.RoundRobinRoutingStrategy({}),
      new lib.FastestPingRoutingStrategy(),
      new lib.PingRoutingStrategy({ routingStrategy: inner }),
      new lib.PreferredWithFallbackRoutingStrategy({ preferredGateway: GATEWAY }),
      new lib.SimpleCacheRoutingStrategy({ routingStrategy: inner }),
      new lib.CompositeRoutingStrategy({ strategies: [inner] }),
    ]
    return all.map((strategy) => strategy.name).join(' ')
  }),
  same('fields that users read', FIELDS, ({ lib }) => {
    const inner = new lib.StaticRoutingStrategy({ gateway: GATEWAY })
    const ping = new lib.PingRoutingStrategy({ routingStrategy: inner })
    const preferred = new lib.PreferredWithFallbackRoutingStrategy({ preferredGateway: GATEWAY })
    return `retries ${ping.retries}, timeoutMs ${ping.timeoutMs}, inner ${ping.routingStrategy.name}, ` +
      `preferred ${preferred.preferredGateway}, fallback ${preferred.fallbackStrategy.name}`
  }),
  same('createRoutingStrategy', 'random fastest-ping round-robin preferred-with-fallback undefined', ({ lib }) =>
    ['random', 'fastest', 'balanced', 'preferred', 'other']
      .map((strategy) => String(lib.createRoutingStrategy({ strategy, gatewaysProvider: countedProvider([A]) })?.name))
      .join(' ')),
]

const refusals = [
  same('Static, not a URL', 'error: Invalid URL', ({ lib }) => outcome(() => new lib.StaticRoutingStrategy({ gateway: 'a b' }))),
  same('Random, empty list', 'error: No gateways available', choose((lib) => new lib.RandomRoutingStrategy({}), { gateways: [] })),
  same('RoundRobin, empty list', 'error: No gateways available', choose(
    (lib) => new lib.RoundRobinRoutingStrategy({ gateways: [] }),
  )),
  same('RoundRobin, list and provider', 'error: Cannot provide both gateways and gatewaysProvider', ({ lib }) =>
    outcome(() => new lib.RoundRobinRoutingStrategy({ gateways: [A], gatewaysProvider: countedProvider([A]) }))),
  same('FastestPing, empty list', 'error: No gateways provided', choose(
    (lib) => new lib.FastestPingRoutingStrategy(),
    { gateways: [] },
  )),
  same('Ping, empty list', 'error: No gateways available', choose(
    (lib) => new lib.PingRoutingStrategy({ routingStrategy: new lib.RandomRoutingStrategy({}) }),
    { gateways: [] },
  )),
  same('Composite, no strategies', 'error: At least one routing strategy must be provided', ({ lib }) =>
    outcome(() => new lib.CompositeRoutingStrategy({ strategies: [] }))),
  same('Composite, all fail', 'error: All routing strategies failed to select a gateway', choose(
    (lib) => new lib.CompositeRoutingStrategy({ strategies: [failing('a'), failing('b')] }),
    {},
  )),
  same('SimpleCache, nothing cached and the inner one fails', 'error: inner', choose(
    (lib) => new lib.SimpleCacheRoutingStrategy({ routingStrategy: failing('inner') }),
    {},
  )),
  same('PreferredWithFallback, both fail', 'error: All routing strategies failed to select a gateway', choose(
    (lib, world) => {
      world.replace(globalThis, 'fetch', async () => new Response(null, { status: 503 }))
      return new lib.PreferredWithFallbackRoutingStrategy({ preferredGateway: GATEWAY, fallbackStrategy: failing('b') })
    },
    { path: '/' },
  )),
  better(
    'FastestPing, maxConcurrency 0',
    'refused when constructed',
    'a number with which nothing can work is refused at once, instead of looking like an outage',
    ({ lib }) => {
      try {
        const strategy = new lib.FastestPingRoutingStrategy({ maxConcurrency: 0 })
        return outcome(() => strategy.selectGateway({ gateways: [A] }))
      } catch {
        return 'refused when constructed'
      }
    },
  ),
]

const lists = [
  same('Random chooses an object of the list', 'true', async ({ lib }) => {
    const chosen = await new lib.RandomRoutingStrategy({}).selectGateway({ gateways: [A, B] })
    return String(chosen === A || chosen === B)
  }),
  same('RoundRobin ignores the list it is handed', 'a b a', async ({ lib, world }) => {
    const [a, b, other] = await world.gateways({ a: GOOD, b: GOOD, other: GOOD })
    return repeat(world, new lib.RoundRobinRoutingStrategy({ gateways: urlsOf([a, b]) }), 3, { gateways: [other.url] })
  }),
  better(
    'RoundRobin, three first choices at once',
    'a b c, 1 call of the provider',
    'each choice takes the next one, also while the list is fetched',
    async ({ lib, world }) => {
      const provider = countedProvider(urlsOf(await world.gateways({ a: GOOD, b: GOOD, c: GOOD })))
      const strategy = new lib.RoundRobinRoutingStrategy({ gatewaysProvider: provider })
      const chosen = await Promise.all([1, 2, 3].map(() => strategy.selectGateway({})))
      return `${chosen.map(world.name).join(' ')}, ${provider.calls} call of the provider`
    },
  ),
  same('Composite goes on to the next, and hands everything on', 'b, [a.test] /x sub', async ({ lib, world }) => {
    let handed
    const second = { selectGateway: async (params) => ((handed = params), (await world.gateway('b')).url) }
    const strategy = new lib.CompositeRoutingStrategy({ strategies: [failing('a'), second] })
    const chosen = await strategy.selectGateway({ gateways: [A], path: '/x', subdomain: 'sub' })
    return `${world.name(chosen)}, [${handed.gateways.map((url) => url.host)}] ${handed.path} ${handed.subdomain}`
  }),
  same('Composite, getStrategies is a copy and addStrategy adds', '1 then 2', ({ lib }) => {
    const strategy = new lib.CompositeRoutingStrategy({ strategies: [failing('a')] })
    strategy.getStrategies().push(failing('x'))
    const before = strategy.getStrategies().length
    strategy.addStrategy(failing('b'))
    return `${before} then ${strategy.getStrategies().length}`
  }),
]

const race = (faults, options, params) => async ({ lib, world }) => {
  const gateways = await world.gateways(faults)
  const strategy = new lib.FastestPingRoutingStrategy(options)
  const chosen = await outcome(() => strategy.selectGateway({ gateways: urlsOf(gateways), ...params }), world.name)
  return `${chosen}, HEADs ${heads(gateways)}`
}

const races = [
  same('FastestPing, the fastest of three', 'b, HEADs a:1 b:1 c:1', race({ a: slow(250), b: GOOD, c: slow(350) })),
  same('FastestPing, a 503 that is faster', 'b, HEADs a:1 b:1', race({ a: DOWN, b: slow(50) })),
  same('FastestPing, a dead one', 'b, HEADs a:1 b:1', race({ a: RESET, b: GOOD })),
  same('FastestPing, none answers well', 'error: All gateways failed to respond, HEADs a:1 b:1 c:1', race(
    { a: says(500), b: RESET, c: HANG },
    { timeoutMs: 150 },
  )),
  better(
    'FastestPing, 80 gateways and the fast one last',
    'g79',
    'the place in the list does not decide the race',
    async ({ lib, world }) => {
      const faults = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`g${n}`, slow(n < 79 ? 400 : 0)]))
      const gateways = urlsOf(await world.gateways(faults))
      return world.name(await new lib.FastestPingRoutingStrategy({ timeoutMs: 1_000 }).selectGateway({ gateways }))
    },
  ),
  better('FastestPing, the losers', 'b, loser left alone', 'who lost is not waited for', async ({ lib, world }) => {
    const [a, b] = await world.gateways({ a: HANG, b: slow(50) })
    const strategy = new lib.FastestPingRoutingStrategy({ timeoutMs: 5_000 })
    const chosen = world.name(await strategy.selectGateway({ gateways: urlsOf([a, b]) }))
    return `${chosen}, loser ${(await soon(() => a.counters.aborted > 0)) ? 'left alone' : 'still asked'}`
  }),
  better(
    'FastestPing, what it asks for',
    'HEAD /',
    'the health of a gateway is not that of one path',
    async ({ lib, world }) => {
      const a = await world.gateway('a')
      await outcome(() => new lib.FastestPingRoutingStrategy().selectGateway({ gateways: [a.url], path: '/x?y=1' }))
      return asked(a)
    },
  ),
  better('FastestPing, probePath', 'HEAD /ar-io/healthcheck', 'an option of the newer documentation', async ({ lib, world }) => {
    const a = await world.gateway('a')
    const strategy = new lib.FastestPingRoutingStrategy({ probePath: '/ar-io/healthcheck' })
    await strategy.selectGateway({ gateways: [a.url] })
    return asked(a)
  }),
  better(
    'FastestPing, a path that names another host',
    'a, the other saw 0',
    'a path never steers a probe to another host',
    async ({ lib, world }) => {
      const [a, other] = await world.gateways({ a: GOOD, other: GOOD })
      const strategy = new lib.FastestPingRoutingStrategy()
      const chosen = await outcome(
        () => strategy.selectGateway({ gateways: [a.url], path: `/${other.url.href}x` }),
        world.name,
      )
      return `${chosen}, the other saw ${other.counters.total}`
    },
  ),
]

const pings = [
  better(
    'Ping(Random), 1 good of 5, 20 choices',
    '20 of 20',
    'a retry asks a gateway that was not asked before',
    async ({ lib, world }) => {
      world.makeChancesRepeat()
      const gateways = await world.gateways({ a: DOWN, b: DOWN, c: DOWN, d: DOWN, e: GOOD })
      const strategy = new lib.PingRoutingStrategy({ routingStrategy: new lib.RandomRoutingStrategy({}) })
      const chosen = (await repeat(world, strategy, 20, { gateways: urlsOf(gateways), path: '/' })).match(/\be\b/g) ?? []
      return `${chosen.length} of 20`
    },
  ),
  same(
    'Ping, as many attempts as retries says',
    'error: Failed to find working gateway after HEAD checks, 2 HEADs',
    async ({ lib, world }) => {
      const gateways = await world.gateways({ a: DOWN, b: DOWN, c: DOWN })
      const routingStrategy = new lib.RoundRobinRoutingStrategy({ gateways: urlsOf(gateways) })
      const strategy = new lib.PingRoutingStrategy({ routingStrategy, retries: 2 })
      const chosen = await outcome(() => strategy.selectGateway({ gateways: urlsOf(gateways) }), world.name)
      return `${chosen}, ${gateways.reduce((sum, gateway) => sum + gateway.counters.of('HEAD'), 0)} HEADs`
    },
  ),
  better(
    'Ping(Random with a provider) in a client with another provider',
    'inner',
    'the provider of a strategy wins over one that is injected',
    async ({ lib, world }) => {
      const [inner, injected] = await world.gateways({ inner: GOOD, injected: GOOD })
      const random = new lib.RandomRoutingStrategy({ gatewaysProvider: countedProvider(urlsOf([inner])) })
      const strategy = new lib.PingRoutingStrategy({ routingStrategy: random })
      const client = new lib.Wayfinder({ gatewaysProvider: countedProvider(urlsOf([injected])), routingSettings: { strategy } })
      return world.name(await client.resolveUrl({ arnsName: 'ardrive' }))
    },
  ),
  same('Random without a provider in a client with one', 'a', async ({ lib, world }) => {
    const gatewaysProvider = countedProvider(urlsOf([await world.gateway('a')]))
    const strategy = new lib.RandomRoutingStrategy({})
    const client = new lib.Wayfinder({ gatewaysProvider, routingSettings: { strategy } })
    return world.name(await client.resolveUrl({ arnsName: 'ardrive' }))
  }),
]

const preferred = (fault) => async ({ lib, world }) => {
  const [first, second] = await world.gateways({ preferred: fault, fallback: GOOD })
  const strategy = new lib.PreferredWithFallbackRoutingStrategy({
    preferredGateway: first.url.href,
    fallbackStrategy: inTurn(second),
  })
  return world.name(await strategy.selectGateway({ path: '/', subdomain: '' }))
}

const caches = [
  same('PreferredWithFallback, the preferred one is down', 'fallback', preferred(DOWN)),
  better('PreferredWithFallback, the preferred one is up', 'preferred', 'preferred means tried first', preferred(GOOD)),
  same('SimpleCache, three at once and one later', '1 call', async ({ lib, world }) => {
    const inner = inTurn(await world.gateway('a'))
    const strategy = new lib.SimpleCacheRoutingStrategy({ routingStrategy: inner })
    await Promise.all([1, 2, 3].map(() => strategy.selectGateway({})))
    await strategy.selectGateway({})
    return `${inner.seen.length} call`
  }),
  better(
    'SimpleCache, three at once while a refresh fails',
    'a a a',
    'who waits for the choice of another gets the old gateway as well',
    async ({ lib, world }) => {
      const a = await world.gateway('a')
      const inner = spyStrategy((_, call) => (call === 1 ? a.url : failure('down')()))
      const strategy = new lib.SimpleCacheRoutingStrategy({ routingStrategy: inner, ttlSeconds: 0.02 })
      await strategy.selectGateway({})
      await pause(50)
      const chosen = [1, 2, 3].map(() => outcome(() => strategy.selectGateway({}), world.name))
      return (await Promise.all(chosen)).join(' ')
    },
  ),
]

export const routing = [...names, ...refusals, ...lists, ...races, ...pings, ...caches]
