import { countedProvider } from '../../support/fake-gateways.mjs'
import { IDS } from '../../support/gateway.mjs'
import { DOWN, GOOD, HANG, RESET, inTurn, outcome, pause, says, slow, soon, urlsOf } from '../world.mjs'
import { better, same } from './scenario.mjs'

const TEXT = `ar://${IDS.text}`
const EVENTS = ['routing-started', 'routing-skipped', 'routing-succeeded', 'routing-failed']
const gets = (...gateways) => gateways.map((gateway) => `${gateway.name}:${gateway.counters.of('GET')}`).join(' ')
/** The status, and the gateway that gave it. */
const answered = (response) => `${response.status} ${response.headers.get('x-test-gateway')}`
const clientOf = (lib, ...gateways) => lib.createWayfinderClient({ routingStrategy: inTurn(...gateways) })

/** One request to gateways that are chosen in turn. */
const serve = (faults, { uri = TEXT, ...options } = {}) => async ({ lib, world }) => {
  const gateways = await world.gateways(faults)
  const client = lib.createWayfinderClient({ routingStrategy: inTurn(...gateways), ...options })
  const told = await outcome(async () => answered(await client.request(uri)))
  return `${told}, GETs ${gets(...gateways)}`
}

const requests = [
  same('request by id', '200 a, GETs a:1', serve({ a: GOOD })),
  same('request of an endpoint', '200 a, GETs a:1', serve({ a: GOOD }, { uri: 'ar:///ar-io/info' })),
  same('request, 404', '404 a, GETs a:1 b:0', serve({ a: says(404), b: GOOD })),
  same('request, 304', '304 a, GETs a:1 b:0', serve({ a: says(304), b: GOOD })),
  same('request, every gateway says 503', '503 a, GETs a:1', serve({ a: DOWN })),
  better('request, 503 and then good', '200 b, GETs a:1 b:1', 'another gateway can answer', serve({ a: DOWN, b: GOOD })),
  better('request, 429 and then good', '200 b, GETs a:1 b:1', 'another gateway can answer', serve({ a: says(429), b: GOOD })),
  better('request, reset and then good', '200 b, GETs a:1 b:1', 'another gateway can answer', serve({ a: RESET, b: GOOD })),
  better('request, a list whose first gateway hangs', '200 b', 'nobody waits for ever', async ({ lib, world }) => {
    const gateways = urlsOf(await world.gateways({ a: HANG, b: GOOD }))
    const client = lib.createWayfinderClient({ routingStrategy: new lib.RoundRobinRoutingStrategy({ gateways }) })
    return answered(await client.request(TEXT))
  }),
  better(
    'request, a strategy of the user whose first choice hangs',
    '200 b, GETs a:1 b:1',
    'the strategy is asked again within the deadline, an option that theirs does not have',
    serve({ a: HANG, b: GOOD }, { deadlineMs: 6_000 }),
  ),
  better(
    'request with method and body',
    'POST of 6 bytes',
    'method and body are part of the request',
    async ({ lib, world }) => {
      const a = await world.gateway('a')
      await clientOf(lib, a).request(TEXT, { method: 'POST', body: 'text=1' })
      return `${Object.keys(a.counters.hits)} of ${a.counters.headers[0]['content-length'] ?? 0} bytes`
    },
  ),
  same('endpoint with method and body', 'text=1', async ({ lib, world }) => {
    const client = clientOf(lib, await world.gateway('a'))
    return (await client.request('ar:///graphql', { method: 'POST', body: 'text=1' })).text()
  }),
  better('request, the signal of the caller', 'enough, left alone', 'the caller may give up, and gets the reason as from fetch', async ({ lib, world }) => {
    const a = await world.gateway('a', slow(400))
    const controller = new AbortController()
    const request = clientOf(lib, a).request(TEXT, { signal: controller.signal })
    const told = request.then(answered, (error) => error.message)
    await soon(() => a.counters.total > 0)
    controller.abort(new Error('enough'))
    return `${await told}, ${(await soon(() => a.counters.aborted > 0)) ? 'left alone' : 'still asked'}`
  }),
  better('request, headers of its own', 'none', 'a custom header costs a preflight in a browser', async ({ lib, world }) => {
    const a = await world.gateway('a')
    await clientOf(lib, a).request(TEXT)
    return Object.keys(a.counters.headers[0]).filter((name) => name.startsWith('x-')).join(' ') || 'none'
  }),
  same('request, a header of the caller', 'yes', async ({ lib, world }) => {
    const a = await world.gateway('a')
    await clientOf(lib, a).request(TEXT, { headers: { 'if-none-match': 'yes' } })
    return a.counters.headers[0]['if-none-match']
  }),
  better('request, what tells who answered', `b, url /${IDS.text}`, 'the answer says whose it is', async ({ lib, world }) => {
    const b = await world.gateway('b')
    const response = await clientOf(lib, b).request(TEXT)
    return `${world.name(response.gateway)}, url ${response.url && new URL(response.url).pathname}`
  }),
  same('request of an https URL', '200 a', async ({ lib, world }) => {
    const [a, b] = await world.gateways({ a: GOOD, b: GOOD })
    return answered(await clientOf(lib, b).request(a.url.href))
  }),
]

const routes = [
  better('FastestPing, a path that is not there', '404, HEADs 1', 'a 404 is an answer, not an outage', async ({ lib, world }) => {
    const a = await world.gateway('a')
    const routingStrategy = new lib.FastestPingRoutingStrategy({ gatewaysProvider: countedProvider(urlsOf([a])) })
    const client = lib.createWayfinderClient({ routingStrategy })
    const told = await outcome(async () => (await client.request(`${TEXT}/missing`)).status)
    return `${told}, HEADs ${a.counters.of('HEAD')}`
  }),
  better('FastestPing, an endpoint that refuses HEAD', '200', 'the probe has a path of its own', async ({ lib, world }) => {
    const a = await world.gateway('a', says(405, { method: 'HEAD', path: '/ar-io/info' }))
    const routingStrategy = new lib.FastestPingRoutingStrategy({ gatewaysProvider: countedProvider(urlsOf([a])) })
    return outcome(async () => (await lib.createWayfinderClient({ routingStrategy }).request('ar:///ar-io/info')).status)
  }),
  better(
    'SimpleCache, two requests when the cached gateway fails',
    '200 b 200 b, GETs a:1 b:2',
    'a gateway that failed is not kept',
    async ({ lib, world }) => {
      const [a, b] = await world.gateways({ a: DOWN, b: GOOD })
      const routingStrategy = new lib.SimpleCacheRoutingStrategy({ routingStrategy: inTurn(a, b) })
      const client = lib.createWayfinderClient({ routingStrategy })
      const first = answered(await client.request(TEXT))
      return `${first} ${answered(await client.request(TEXT))}, GETs ${gets(a, b)}`
    },
  ),
  better('20 gateways, one of them good, 20 requests', '20 of 20', 'one good gateway is enough', async ({ lib, world }) => {
    world.makeChancesRepeat()
    const faults = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`g${n}`, n === 13 ? GOOD : says(502)]))
    const gatewaysProvider = countedProvider(urlsOf(await world.gateways(faults)))
    const routingStrategy = new lib.RandomRoutingStrategy({ gatewaysProvider })
    const client = lib.createWayfinderClient({ routingStrategy })
    let served = 0
    for (let turn = 0; turn < 20; turn += 1) served += (await client.request(TEXT)).ok
    return `${served} of 20`
  }),
  better('setRoutingStrategy, then a request', '200 b', 'a setter takes effect', async ({ lib, world }) => {
    const [a, b] = await world.gateways({ a: GOOD, b: GOOD })
    const client = clientOf(lib, a)
    client.setRoutingStrategy(inTurn(b))
    return answered(await client.request(TEXT))
  }),
  better('methods without their object', `/${IDS.text} 200 a`, 'their own documentation shows that use', async ({ lib, world }) => {
    const { resolveUrl, request } = clientOf(lib, await world.gateway('a'))
    return `${(await resolveUrl({ originalUrl: TEXT })).pathname} ${answered(await request(TEXT))}`
  }),
]

/** The number of every event that a client emits, as the emitter and the callbacks of the options see them. */
const heard = (fault, uri) => async ({ lib, world }) => {
  const a = await world.gateway('a', fault)
  const calls = Object.fromEntries(EVENTS.map((event) => [event, [0, 0]]))
  const events = Object.fromEntries(
    EVENTS.map((event) => [`onRouting${event[8].toUpperCase()}${event.slice(9)}`, () => (calls[event][1] += 1)]),
  )
  const client = lib.createWayfinderClient({ routingStrategy: inTurn(a), events })
  for (const event of EVENTS) client.emitter.on(event, () => (calls[event][0] += 1))
  await outcome(() => client.request(uri ?? a.url.href))
  return EVENTS.map((event) => `${event.slice(8)} ${calls[event].join('/')}`).join(', ')
}

const events = [
  better(
    'events of a request: emitter/callback',
    'started 1/1, skipped 0/0, succeeded 1/1, failed 0/0',
    'one thing that happens is told once',
    heard(GOOD, TEXT),
  ),
  better(
    'events of a request that fails: emitter/callback',
    'started 1/1, skipped 0/0, succeeded 0/0, failed 1/1',
    'who listens hears of a failure, once',
    heard(RESET, TEXT),
  ),
  same('events of an https URL: emitter/callback', 'started 0/0, skipped 1/1, succeeded 0/0, failed 0/0', heard(GOOD)),
  same('routing-succeeded, what it tells', `${TEXT} a /${IDS.text}`, async ({ lib, world }) => {
    const client = clientOf(lib, await world.gateway('a'))
    let told
    client.emitter.on('routing-succeeded', (event) => (told = event))
    await client.request(TEXT)
    return `${told.originalUrl} ${world.name(new URL(told.selectedGateway))} ${new URL(told.redirectUrl).pathname}`
  }),
]

/** The gateway that clients without options ask for a list is on the internet: here it is on this machine. */
const withoutOptions = (make) => async ({ lib, world }) => {
  const a = await world.gateway('a')
  const network = globalThis.fetch
  world.replace(globalThis, 'fetch', (input, init) => {
    const url = new URL(input)
    if (url.host !== 'turbo-gateway.com') return network(input, init)
    return Promise.resolve(Response.json({ gateways: { a: { url: a.url.href } } }))
  })
  return outcome(async () => answered(await make(lib).request(TEXT)))
}

const defaults = [
  same('strategies of clients without options', 'random, ping of random', ({ lib }) => {
    const outer = new lib.Wayfinder().routingSettings.strategy
    return `${lib.createWayfinderClient().routingSettings.strategy.name}, ${outer.name} of ${outer.routingStrategy.name}`
  }),
  same('the nested form of the options', '200 a', async ({ lib, world }) => {
    const strategy = inTurn(await world.gateway('a'))
    const client = new lib.Wayfinder({
      routingSettings: { strategy, events: {} },
      verificationSettings: { enabled: false, strict: false, events: {} },
      telemetrySettings: { enabled: false, sampleRate: 0.1, clientName: 'compat' },
    })
    return answered(await client.request(TEXT))
  }),
  same('createWayfinderClient()', '200 a', withoutOptions((lib) => lib.createWayfinderClient())),
  better('new Wayfinder()', '200 a', 'no options means the defaults, and they serve', withoutOptions((lib) => new lib.Wayfinder())),
  better('createWayfinderClient({ events })', '200 a', 'an option that is not given has its default', withoutOptions((lib) =>
    lib.createWayfinderClient({ events: {} }))),
  better(
    'createWayfinderClient with both forms of options',
    '200 b',
    'no option is dropped because of another',
    async ({ lib, world }) => {
      const b = await world.gateway('b')
      const network = globalThis.fetch
      // Theirs falls back to a gateway on the internet, which is not there.
      world.replace(globalThis, 'fetch', async (input, init) =>
        new URL(input).host === b.url.host ? network(input, init) : new Response(null, { status: 500 }))
      const client = lib.createWayfinderClient({ strict: true, routingSettings: { strategy: inTurn(b), events: {} } })
      return outcome(async () => answered(await client.request(TEXT)))
    },
  ),
  better('a client without a logger', '0 lines', 'a library is silent unless asked', async ({ lib, world, traces }) => {
    const before = traces.lines
    await clientOf(lib, await world.gateway('a')).request(TEXT)
    return `${traces.lines - before} lines`
  }),
  better('globals that the import replaced', 'none', 'a library leaves alone what is not its own', ({ traces }) =>
    traces.replaced.join(' ') || 'none'),
  // The last one, so that it speaks of all.
  same('rejections that nobody handled', '0', async ({ traces }) => {
    await pause(50)
    return String(traces.unhandled)
  }),
]

export const client = [...requests, ...routes, ...events, ...defaults]
