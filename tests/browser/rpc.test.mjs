import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BROWSER, openPage, startBrowser } from '../support/browser.mjs'
import { STORY_COUNT, storyTeller } from '../support/chaos.mjs'
import { providersOf, startMocks, startShared } from '../support/providers.mjs'
import { chainHashes, hashesOf, sentAgain, signTransactions } from '../support/transactions.mjs'
import { GOOD_ROUND, ROUNDS } from '../support/workloads.mjs'

const READS = 1_000
const SENDS = 2 * STORY_COUNT
const DEADLINE_MS = 8_000
// Of a bare `fetch` Firefox, too, remembers only the third answer to a preflight.
const PREFLIGHTS = BROWSER === 'firefox' ? 3 : 1
const hits = (proxies) => proxies.map(({ counters }) => counters.total)

// One browser for the file: it takes longer to start than all else together.
const cleanups = []
let site
before(async () => { site = await startBrowser({ after: (cleanup) => cleanups.push(cleanup) }) })
after(async () => { for (const cleanup of cleanups.reverse()) await cleanup() })

async function open(t) {
  const { page, errors } = await openPage(site)
  t.after(async () => {
    await page.close()
    assert.deepEqual(errors, [])
  })
  return page
}

for (const name of Object.keys(ROUNDS)) {
  test(`in a page, ${name} takes the client as its provider: it reads, sends and waits for the receipt`, async (t) => {
    const { node, proxies } = await startShared(t, 3, { isTicking: true })
    const page = await open(t)
    const { hash, receiptHash, ...round } = await page.evaluate(async ({ name, providers }) => {
      const [{ createRpcClient }, { runRound }, libraries] = await Promise.all([
        import('/waypost/index.js'), import('/support/workloads.mjs'), import(`/libraries/${name}.js`),
      ])
      const rpc = createRpcClient({ providers, strategy: 'load_balanced', seed: 7 })
      return runRound(name, rpc, libraries)
    }, { name, providers: providersOf(proxies) })
    assert.deepEqual(round, GOOD_ROUND)
    assert.equal(receiptHash, hash)
    assert.deepEqual(await chainHashes(node.url), [hash])
    assert.ok(hits(proxies).filter((count) => count > 0).length > 1, 'the calls are spread over several providers')
  })
}

test('a module script of a plain page can import the package', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const page = await open(t)
  await page.evaluate((url) => {
    const textContent = `
      import { createRpcClient } from '/waypost/index.js'
      const rpc = createRpcClient({ providers: ['${url}'] })
      document.title = await rpc.request({ method: 'web3_clientVersion' })
    `
    document.head.append(Object.assign(document.createElement('script'), { type: 'module', textContent }))
  }, proxy.url)
  await page.waitForFunction(() => document.title === 'mock/a')
})

test('in a page, 1,000 reads and some sends lose nothing while providers fail in turn', async (t) => {
  const { node, proxies } = await startShared(t)
  const page = await open(t)
  const tell = storyTeller(proxies, { lostBy: 'truncated' })
  const raws = await signTransactions(SENDS)
  await page.exposeFunction('tell', (step) => tell(step))
  const run = await page.evaluate(async ({ providers, deadlineMs, ...work }) => {
    const [{ createRpcClient }, { chaosRun }] = await Promise.all([
      import('/waypost/index.js'), import('/support/workloads.mjs'),
    ])
    const rpc = createRpcClient({ providers, deadlineMs, attemptTimeoutMs: 1_000, seed: 3 })
    return chaosRun(rpc, { ...work, tell: window.tell })
  }, { providers: providersOf(proxies), deadlineMs: DEADLINE_MS, raws, count: READS, stories: STORY_COUNT })

  assert.deepEqual([run.failures, run.wrong, run.answered], [[], [], READS])
  assert.ok(run.slowestMs < DEADLINE_MS, `one call took ${run.slowestMs} ms`)
  assert.deepEqual(run.hashes, hashesOf(raws))
  assert.deepEqual(await chainHashes(node.url), hashesOf(raws))
  assert.deepEqual(sentAgain(proxies), [])
})

test('in a page, nothing runs when the package is imported or a client is made', async (t) => {
  const page = await open(t)
  const report = await page.evaluate(async () => {
    const { importQuietly } = await import('/support/quiet-import.mjs')
    return importQuietly(
      () => import('/waypost/index.js'),
      ({ createRpcClient }) => createRpcClient({ providers: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] }),
    )
  })
  assert.deepEqual(report, { loading: [], making: [] })
})

test('a preflight asks for the content type only, and not for each request', async (t) => {
  const proxies = await startMocks(t, 3)
  const page = await open(t)
  await page.evaluate(async (providers) => {
    const { createRpcClient } = await import('/waypost/index.js')
    const rpc = createRpcClient({ providers, strategy: 'load_balanced' })
    for (let call = 0; call < 30; call += 1) await rpc.request({ method: 'eth_chainId' })
  }, providersOf(proxies))
  for (const { counters } of proxies) {
    assert.deepEqual([...new Set(counters.preflights)], ['content-type'])
    assert.ok(counters.preflights.length <= PREFLIGHTS, `${counters.preflights.length} preflights for ${counters.total} requests`)
  }
})

test('in a page, an abort closes the connection and asks nobody else', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('hang')
  const page = await open(t)
  await page.exposeFunction('arrived', () => proxies[0].counters.until(({ bodies }) => bodies === 1).then(() => true))
  const outcome = await page.evaluate(async (providers) => {
    const { createRpcClient } = await import('/waypost/index.js')
    const rpc = createRpcClient({ providers, strategy: 'priority' })
    const controller = new AbortController()
    const reason = new Error('the user left the page')
    const call = rpc.request({ method: 'eth_chainId' }, { signal: controller.signal }).catch((error) => error)
    await window.arrived()
    controller.abort(reason)
    const error = await call
    return { name: error.name, isReason: error.cause === reason }
  }, providersOf(proxies))
  assert.deepEqual(outcome, { name: 'AbortError', isReason: true })
  await proxies[0].counters.until(({ aborted }) => aborted === 1)
  assert.equal(proxies[1].counters.total, 0)
})

test('in a page, a wait that a provider asks for is read where the provider exposes it', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('rateLimited', { retryAfter: 90 })
  const page = await open(t)
  const limitedForMs = await page.evaluate(async (providers) => {
    const { createRpcClient } = await import('/waypost/index.js')
    const rpc = createRpcClient({ providers, strategy: 'priority' })
    for (let call = 0; call < 20; call += 1) await rpc.request({ method: 'eth_chainId' })
    const [chains] = Object.values(rpc.status().profiles)
    return Object.values(chains)[0].providers[0].limitedForMs
  }, providersOf(proxies))
  assert.deepEqual(hits(proxies), [1, 20])
  assert.ok(limitedForMs > 60_000 && limitedForMs <= 90_000, `${limitedForMs}`)
})
