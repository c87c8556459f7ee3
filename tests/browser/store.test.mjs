import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPage, startBrowser } from '../support/browser.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

// One browser for the file: it takes longer to start than all else together.
const cleanups = []
let site
before(async () => { site = await startBrowser({ after: (cleanup) => cleanups.push(cleanup) }, []) })
after(async () => { for (const cleanup of cleanups.reverse()) await cleanup() })

/** What pages may lack: a browser without channels, and one that forbids storage. */
const LACKS = {
  channel: () => { delete globalThis.BroadcastChannel },
  storage: () => {
    const get = () => { throw new DOMException('The operation is insecure.', 'SecurityError') }
    Object.defineProperty(globalThis, 'localStorage', { get })
  },
}

/** Opens tabs of one browser profile, whose first provider is dead. */
async function openTabs(t, lacks = []) {
  const context = await site.browser.newContext()
  t.after(() => context.close())
  const proxies = await startMocks(t, 2)
  proxies[0].fault('status', { status: 500 })
  const providers = providersOf(proxies).map((provider, priority) => ({ ...provider, priority }))
  const open = async () => {
    const { page, errors } = await openPage({ ...site, browser: context })
    t.after(() => assert.deepEqual(errors, []))
    for (const lack of lacks) await page.evaluate(LACKS[lack])
    await page.evaluate(async (providers) => {
      const { attachStore, createRpcClient, tabStore } = await import('/waypost/index.js')
      window.errors = []
      window.rpc = createRpcClient({ providers, strategy: 'priority' })
      window.learnt = attachStore(rpc, tabStore({ key: 'mine' }), { intervalMs: 1, onError: (error) => errors.push(String(error)) })
      window.circuit = () => rpc.status().profiles.default.default.providers[0].circuit
      window.work = async (count) => {
        for (let call = 0; call < count; call += 1) await rpc.request({ method: 'eth_chainId' })
      }
    }, providers)
    return page
  }
  return { open, proxies }
}

const until = (page, circuit) => page.waitForFunction((wanted) => window.circuit() === wanted, circuit)
const noErrors = async (page) => assert.deepEqual(await page.evaluate(() => window.errors), [])

test('an open tab hears of an outage at once, without a request of its own', async (t) => {
  const { open, proxies } = await openTabs(t)
  const [first, second] = [await open(), await open()]
  await first.evaluate(() => work(8))
  await until(second, 'open')
  const before = proxies[0].counters.total
  await second.evaluate(() => work(5))
  assert.equal(proxies[0].counters.total, before)
  for (const page of [first, second]) await noErrors(page)
})

test('the next page starts warm when no tab is left, and what is not its own in storage stays', async (t) => {
  const { open, proxies } = await openTabs(t)
  const first = await open()
  await first.evaluate(() => {
    Object.entries({ 'mine:state:bad': '{', 'mine:state:old': '{"version":1,"savedAt":5,"providers":[]}', 'mine:other': '{', theirs: 'x' })
      .forEach(([item, text]) => localStorage.setItem(item, text))
    return work(8)
  })
  await first.waitForFunction(() => Object.keys(localStorage).length === 5)
  const before = proxies[0].counters.total
  await first.close()
  const second = await open()
  await until(second, 'open')
  await second.evaluate(() => work(5))
  assert.equal(proxies[0].counters.total, before)
  const items = await second.evaluate(() => Object.keys(localStorage).map((item) => item.replace(/^mine:state:\w{9,}$/, 'a tab')).sort())
  assert.deepEqual(items, ['a tab', 'a tab', 'mine:other', 'theirs'])
  await noErrors(second)
})

test('without channels, tabs hear of each other when they have requests', async (t) => {
  const { open, proxies } = await openTabs(t, ['channel'])
  const [first, second] = [await open(), await open()]
  await first.evaluate(() => work(8))
  const before = proxies[0].counters.total
  await second.evaluate(() => new Promise((resolve) => { learnt.touch((exchanged) => resolve(exchanged)) }))
  await until(second, 'open')
  await second.evaluate(() => work(5))
  assert.equal(proxies[0].counters.total, before)
  await noErrors(second)
})

test('without storage, open tabs hear of each other', async (t) => {
  const { open } = await openTabs(t, ['storage'])
  const [first, second] = [await open(), await open()]
  await first.evaluate(() => work(8))
  await until(second, 'open')
  for (const page of [first, second]) await noErrors(page)
})

test('with neither, each tab works for itself', async (t) => {
  const { open } = await openTabs(t, ['channel', 'storage'])
  const [first, second] = [await open(), await open()]
  await first.evaluate(() => work(8))
  await second.evaluate(() => work(1))
  assert.equal(await first.evaluate(() => circuit()), 'open')
  assert.equal(await second.evaluate(() => circuit()), 'closed')
  for (const page of [first, second]) await noErrors(page)
})

test('a tab that has detached hears and tells nothing more', async (t) => {
  const { open } = await openTabs(t)
  const [first, second, third] = [await open(), await open(), await open()]
  await second.evaluate(() => learnt.detach())
  await first.evaluate(() => work(8))
  await until(third, 'open')
  assert.equal(await second.evaluate(() => circuit()), 'closed')
  await noErrors(second)
})
