import { countedProvider } from '../../support/fake-gateways.mjs'
import { better, same } from './scenario.mjs'
import { failure, outcome, pause, says } from '../world.mjs'

const A = new URL('https://a.test')
const B = new URL('https://b.test')
const hosts = (gateways) => `[${gateways.map((gateway) => gateway.host).join(' ')}]`
const hostsOf = (provider) => outcome(() => provider.getGateways(), hosts)

const peers = (status, body) => async ({ lib, world }) => {
  const gateway = await world.gateway('peers', says(status, { body }))
  const provider = new lib.TrustedPeersGatewaysProvider({ trustedGateway: gateway.url.href })
  return `${await hostsOf(provider)} from ${gateway.counters.targets}`
}

/** A cache that has one old list, and a provider behind it that does `next` from now on. */
const oldCache = async (lib, next) => {
  const gatewaysProvider = countedProvider((call) => (call === 1 ? [A] : next()))
  const cache = new lib.SimpleCacheGatewaysProvider({ gatewaysProvider, ttlSeconds: 0.02 })
  await cache.getGateways()
  await pause(50)
  return cache
}

/** Gateways of a registry that knows nothing of sorting, in pages of two. */
const registry = (entries) => ({
  async getGateways({ cursor }) {
    const start = Number(cursor ?? 0)
    const end = start + 2
    const items = entries.slice(start, end).map(([fqdn, stake, status = 'joined']) => ({
      status,
      operatorStake: stake,
      totalDelegatedStake: stake,
      settings: { protocol: 'https', fqdn, port: 443 },
    }))
    const hasMore = end < entries.length
    return { items, hasMore, nextCursor: hasMore ? String(end) : undefined, totalItems: entries.length, limit: 2 }
  },
})

export const gateways = [
  same('StaticGatewaysProvider', '[a.test b.test]', ({ lib }) =>
    hostsOf(new lib.StaticGatewaysProvider({ gateways: ['https://a.test', 'https://b.test'] }))),
  same('StaticGatewaysProvider, not a URL', 'error: Invalid URL', ({ lib }) =>
    outcome(() => new lib.StaticGatewaysProvider({ gateways: ['a b'] }))),
  same(
    'TrustedPeers, one entry is not a URL',
    '[a.test b.test] from /ar-io/peers',
    peers(200, JSON.stringify({ gateways: { a: { url: A.href }, x: { url: 'a b' }, b: { url: B.href } } })),
  ),
  same(
    'TrustedPeers, 500',
    'error: Failed to fetch trusted peer list: 500 Internal Server Error broken from /ar-io/peers',
    peers(500, 'broken'),
  ),
  same(
    'TrustedPeers, no gateways member',
    'error: Invalid trusted peer list format: missing "gateways" object from /ar-io/peers',
    peers(200, '{}'),
  ),
  same('CompositeGatewaysProvider, none', 'error: At least one gateways provider must be provided', ({ lib }) =>
    outcome(() => new lib.CompositeGatewaysProvider({ providers: [] }))),
  same('CompositeGatewaysProvider, failed then empty then good', '[b.test]', ({ lib }) => {
    const failed = countedProvider(failure('down'))
    return hostsOf(new lib.CompositeGatewaysProvider({ providers: [failed, countedProvider([]), countedProvider([B])] }))
  }),
  same('CompositeGatewaysProvider, all empty', 'error: All gateways providers failed to return gateways', ({ lib }) =>
    hostsOf(new lib.CompositeGatewaysProvider({ providers: [countedProvider([]), countedProvider([])] }))),
  same('SimpleCacheGatewaysProvider, three at once and one later', '1 call', async ({ lib }) => {
    const provider = countedProvider([A])
    const cache = new lib.SimpleCacheGatewaysProvider({ gatewaysProvider: provider })
    await Promise.all([cache.getGateways(), cache.getGateways(), cache.getGateways()])
    await cache.getGateways()
    return `${provider.calls} call`
  }),
  better(
    'SimpleCacheGatewaysProvider, refreshed with an empty list',
    '[a.test] then [a.test]',
    'an empty list never replaces a good one',
    async ({ lib }) => {
      const cache = await oldCache(lib, () => [])
      const first = await hostsOf(cache)
      await pause(30)
      return `${first} then ${await hostsOf(cache)}`
    },
  ),
  better(
    'SimpleCacheGatewaysProvider, three at once while a refresh fails',
    '[a.test] [a.test] [a.test]',
    'who waits for the refresh of another gets the old list as well',
    async ({ lib }) => {
      const cache = await oldCache(lib, failure('down'))
      return (await Promise.all([hostsOf(cache), hostsOf(cache), hostsOf(cache)])).join(' ')
    },
  ),
  same(
    'LocalStorageGatewaysProvider without a window',
    'error: LocalStorageGatewaysProvider is only available in browser environments. ' +
      'Consider using SimpleCacheGatewaysProvider for node.js environments.',
    ({ lib }) => outcome(() => new lib.LocalStorageGatewaysProvider({ gatewaysProvider: countedProvider([A]) })),
  ),
  same(
    'LocalStorageGatewaysProvider, what it stores',
    '[a.test] under wayfinder|gateways: expiresAt gateways timestamp ttlSeconds, ttl 3600, ["https://a.test/"]',
    async ({ lib, world }) => {
      const stored = new Map()
      const localStorage = {
        getItem: (key) => stored.get(key) ?? null,
        setItem: (key, value) => void stored.set(key, value),
        removeItem: (key) => void stored.delete(key),
      }
      world.replace(globalThis, 'localStorage', localStorage)
      world.replace(globalThis, 'window', { document: {}, localStorage })
      const list = await hostsOf(new lib.LocalStorageGatewaysProvider({ gatewaysProvider: countedProvider([A]) }))
      const [[key, text]] = stored
      const value = JSON.parse(text)
      const keys = Object.keys(value).sort().join(' ')
      return `${list} under ${key}: ${keys}, ttl ${value.ttlSeconds}, ${JSON.stringify(value.gateways)}`
    },
  ),
  same('NetworkGatewaysProvider, who has left is left out', '[a.test b.test c.test]', ({ lib }) =>
    hostsOf(new lib.NetworkGatewaysProvider({
      ario: registry([['a.test', 9], ['x.test', 8, 'leaving'], ['b.test', 7], ['c.test', 6]]),
    }))),
  better(
    'NetworkGatewaysProvider, a registry that does not sort, limit 2',
    '[c.test b.test]',
    'the limit is for the largest stakes, so it comes after the sorting',
    ({ lib }) =>
      hostsOf(new lib.NetworkGatewaysProvider({
        ario: registry([['a.test', 1], ['b.test', 2], ['c.test', 3]]),
        limit: 2,
      })),
  ),
  better(
    'NetworkGatewaysProvider, one bad host name',
    '[a.test b.test]',
    'one bad entry does not cost the others',
    ({ lib }) => hostsOf(new lib.NetworkGatewaysProvider({ ario: registry([['a.test', 3], ['a b', 2], ['b.test', 1]]) })),
  ),
]
