import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { LocalStorageGatewaysProvider } from 'waypost'

const A = 'https://a.example/'
const B = 'https://b.example/'
const KEY = 'wayfinder|gateways'
const hrefs = (urls) => urls.map(String)

/** A page's window for one test, with storage that can be told to fail; answers with that storage. */
function openPage(t, storage = new Map()) {
  const localStorage = {
    getItem: (key) => storage.get(key) ?? null,
    setItem: (key, value) => void storage.set(key, value),
    removeItem: (key) => void storage.delete(key),
  }
  globalThis.window = { localStorage, document: {} }
  t.after(() => delete globalThis.window)
  return { storage, localStorage }
}

/** A provider that gives its lists in turn, then the last one again; an Error is thrown instead. */
function source(...lists) {
  const inner = {
    calls: 0,
    async getGateways() {
      inner.calls += 1
      const list = lists[Math.min(inner.calls, lists.length) - 1]
      if (list instanceof Error) throw list
      return list.map((href) => new URL(href))
    },
  }
  return inner
}

const stored = (ageMs, gateways = [A], ttlSeconds = 3_600) => {
  const timestamp = Date.now() - ageMs
  return JSON.stringify({ gateways, timestamp, expiresAt: timestamp + ttlSeconds * 1_000, ttlSeconds })
}

const open = (gatewaysProvider, more = {}) => new LocalStorageGatewaysProvider({ gatewaysProvider, ...more })

test('there must be a window with localStorage', (t) => {
  const message =
    'LocalStorageGatewaysProvider is only available in browser environments. ' +
    'Consider using SimpleCacheGatewaysProvider for node.js environments.'
  assert.throws(() => open(source([A])), { message })
  t.after(() => delete globalThis.window)
  globalThis.window = { document: {} }
  assert.throws(() => open(source([A])), { message })
})

test('options are checked', (t) => {
  openPage(t)
  assert.throws(() => open(source([A]), { ttlSeconds: -1 }), /^RangeError: LocalStorageGatewaysProvider: ttlSeconds .* -1/)
  assert.throws(() => open(source([A]), { cachekey: 'x' }), /unknown option cachekey\. Did you mean "cacheKey"\?/)
  assert.throws(() => open(undefined), /gatewaysProvider must be an object with getGateways\(\)/)
})

test("stores the list in Wayfinder's form, where the next page finds it", async (t) => {
  const { storage } = openPage(t)
  const before = Date.now()
  const page = open(source([A, B]), { ttlSeconds: 600, cacheKey: 'mine' })
  const first = await page.getGateways()
  assert.deepEqual(hrefs(first), [A, B])
  assert.equal((await page.getGateways())[0], first[0], 'the same objects, call after call')
  const { timestamp, ...rest } = JSON.parse(storage.get('wayfinder|mine'))
  assert.ok(timestamp >= before && timestamp <= Date.now())
  assert.deepEqual(rest, { gateways: [A, B], expiresAt: timestamp + 600_000, ttlSeconds: 600 })
  const later = source([])
  const next = open(later, { cacheKey: 'mine' })
  const list = await next.getGateways()
  assert.deepEqual(hrefs(list), [A, B])
  assert.ok(list[0] instanceof URL)
  assert.equal((await next.getGateways())[0], list[0], 'the same objects, call after call')
  assert.equal(later.calls, 0)
})

test('an expired list is refreshed, and served if that fails, to leader and followers', async (t) => {
  const { storage } = openPage(t, new Map([[KEY, stored(3_600_000)]]))
  assert.deepEqual(hrefs(await open(source([B])).getGateways()), [B])
  for (const nothing of [new Error('down'), []]) {
    const text = stored(3_700_000)
    storage.set(KEY, text)
    const page = open(source(nothing))
    const lists = await Promise.all([page.getGateways(), page.getGateways()])
    assert.deepEqual(lists.map(hrefs), [[A], [A]])
    assert.equal(storage.get(KEY), text)
  }
})

test('the shorter of the stored time to live and our own counts', async (t) => {
  const { storage } = openPage(t, new Map([[KEY, stored(400_000, [A], 300)]]))
  assert.deepEqual(hrefs(await open(source([B])).getGateways()), [B])
  storage.set(KEY, stored(400_000))
  assert.deepEqual(hrefs(await open(source([B]), { ttlSeconds: 300 }).getGateways()), [B])
  storage.set(KEY, stored(400_000))
  assert.deepEqual(hrefs(await open(source([B])).getGateways()), [A])
})

test('a stored list ages while the page is open', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  openPage(t, new Map([[KEY, stored(3_000_000)]]))
  const page = open(source([B]))
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  now += 600_000
  assert.deepEqual(hrefs(await page.getGateways()), [B])
})

test('a list from the future is old: the clock was set back', async (t) => {
  const { storage } = openPage(t, new Map([[KEY, stored(-60_000)]]))
  assert.deepEqual(hrefs(await open(source([B])).getGateways()), [B])
  storage.set(KEY, stored(-60_000))
  assert.deepEqual(hrefs(await open(source([])).getGateways()), [A])
})

test('damaged data is ignored', async (t) => {
  const { storage } = openPage(t)
  const good = JSON.parse(stored(0))
  const damaged = [
    'nonsense',
    'null',
    '[]',
    '7',
    JSON.stringify({ ...good, gateways: A }),
    JSON.stringify({ ...good, gateways: [] }),
    JSON.stringify({ ...good, gateways: [A, 'nonsense'] }),
    JSON.stringify({ ...good, gateways: ['javascript:alert(1)'] }),
    JSON.stringify({ ...good, timestamp: 'x' }),
    JSON.stringify({ ...good, ttlSeconds: undefined }),
  ]
  for (const text of damaged) {
    storage.set(KEY, text)
    assert.deepEqual(hrefs(await open(source([B])).getGateways()), [B], text)
  }
})

test('a list without a time to live is old, and a failed refresh is not tried again at once', async (t) => {
  openPage(t, new Map([[KEY, stored(0, [A], null).replace('"ttlSeconds":null', '"ttlSeconds":"x"')]]))
  const inner = source(new Error('down'))
  const page = open(inner)
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.equal(inner.calls, 1)
})

test('storage that fails is done without', async (t) => {
  const { localStorage } = openPage(t)
  for (const method of Object.keys(localStorage)) {
    t.mock.method(localStorage, method, () => {
      throw new Error('forbidden')
    })
  }
  const inner = source([A], [B])
  const page = open(inner)
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.equal(inner.calls, 1)
  page.clearCache()
  assert.deepEqual(hrefs(await page.getGateways()), [B])
})

test('a page that may not touch localStorage has the list in memory', async (t) => {
  t.after(() => delete globalThis.window)
  globalThis.window = {
    get localStorage() {
      throw new Error('SecurityError')
    },
  }
  const inner = source([A])
  const page = open(inner)
  await page.getGateways()
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.equal(inner.calls, 1)
})

test('a full storage that holds an old list does not bring it back', async (t) => {
  const { localStorage } = openPage(t, new Map([[KEY, stored(3_600_000)]]))
  t.mock.method(localStorage, 'setItem', () => {
    throw new Error('quota')
  })
  const inner = source([B])
  const page = open(inner)
  await page.getGateways()
  assert.deepEqual(hrefs(await page.getGateways()), [B])
  assert.equal(inner.calls, 1)
})

test('what another tab stores or removes is seen', async (t) => {
  const { storage } = openPage(t)
  const inner = source([A])
  const page = open(inner)
  await page.getGateways()
  storage.set(KEY, stored(0, [B]))
  assert.deepEqual(hrefs(await page.getGateways()), [B])
  storage.delete(KEY)
  assert.deepEqual(hrefs(await page.getGateways()), [A])
  assert.equal(inner.calls, 2)
})

test('clearCache() forgets the list and what is under way', async (t) => {
  const { storage } = openPage(t)
  const inner = source([A], [B], [])
  const page = open(inner)
  await page.getGateways()
  page.clearCache()
  assert.equal(storage.has(KEY), false)
  const waiting = page.getGateways()
  page.clearCache()
  assert.deepEqual(hrefs(await waiting), [B])
  await turn()
  assert.equal(storage.has(KEY), false)
  assert.deepEqual(await page.getGateways(), [])
})

test('callers share a load, and have [] when there is nothing', async (t) => {
  openPage(t)
  const inner = source(new Error('down'))
  const page = open(inner)
  assert.deepEqual(await Promise.all([page.getGateways(), page.getGateways(), page.getGateways()]), [[], [], []])
  assert.equal(inner.calls, 1)
})
