/** Second attempts, single flight and the cache in a page. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPage, startBrowser } from '../support/browser.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

const HASH = `0x${'ab'.repeat(32)}`
const RECEIPT = { transactionHash: HASH, blockHash: HASH, status: '0x1' }
const WHO = { method: 'web3_clientVersion', params: [] }
const LOOKUP = { method: 'eth_getTransactionReceipt', params: [HASH] }
const totals = (proxies) => proxies.map(({ counters }) => counters.total)

const cleanups = []
let site
before(async () => { site = await startBrowser({ after: (cleanup) => cleanups.push(cleanup) }, []) })
after(async () => { for (const cleanup of cleanups.reverse()) await cleanup() })

async function open(t) {
  const { page, errors } = await openPage(site)
  t.after(async () => {
    await page.close()
    assert.deepEqual(errors, [])
  })
  return page
}

/** Sends `request` from a page whose client has measured both providers before `misbehave` is called. */
async function sendFrom(t, proxies, { options = { hedge: true }, request = WHO, misbehave }) {
  const page = await open(t)
  await page.exposeFunction('misbehave', () => {
    for (const { counters } of proxies) counters.reset()
    misbehave()
  })
  return page.evaluate(async ({ providers, options, request }) => {
    const { createRpcClient } = await import('/waypost/index.js')
    const limits = { attemptTimeoutMs: 20_000, deadlineMs: 30_000 }
    const rpc = createRpcClient({ providers: providers.map((each, priority) => ({ ...each, priority })), strategy: 'priority', seed: 1, ...limits, ...options })
    for (const { id } of providers) for (let call = 0; call < 12; call += 1) await rpc.request(request, { provider: id })
    await window.misbehave()
    const { response, meta } = await rpc.send({ jsonrpc: '2.0', id: 1, ...request })
    return { result: response.result, provider: meta.selected_provider.id, outcomes: meta.attempts.map(({ outcome }) => outcome) }
  }, { providers: providersOf(proxies), options, request })
}

for (const fault of ['hang', 'hangBody']) {
  test(`in a page, a provider with the fault ${fault} loses, and its connection is closed`, async (t) => {
    const proxies = await startMocks(t, 2)
    const answer = await sendFrom(t, proxies, { misbehave: () => proxies[0].fault(fault) })
    assert.deepEqual(answer, { result: 'mock/b', provider: 'b', outcomes: ['abandoned', 'success'] })
    await proxies[0].counters.until(({ aborted }) => aborted === 1)
    assert.deepEqual(totals(proxies), [1, 1])
  })
}

test('in a page, a slow provider has no company by default', async (t) => {
  const proxies = await startMocks(t, 2)
  const answer = await sendFrom(t, proxies, { options: {}, misbehave: () => proxies[0].fault('slow', { delayMs: 500 }) })
  assert.deepEqual(answer, { result: 'mock/a', provider: 'a', outcomes: ['success'] })
  assert.deepEqual(totals(proxies), [1, 0])
})

test('in a page, null does not win against a receipt that is under way', async (t) => {
  const proxies = await startMocks(t, 2)
  const misbehave = () => proxies[0].fault('slow', { delayMs: 500 }).fault('result', { result: RECEIPT })
  const { result, provider } = await sendFrom(t, proxies, { request: LOOKUP, misbehave })
  assert.deepEqual([result, provider], [RECEIPT, 'a'])
  assert.deepEqual(totals(proxies), [1, 1])
})

test('in a page, equal reads share one call, which ends when nobody waits for it; the chain id is asked for once', async (t) => {
  const proxies = await startMocks(t, 1)
  const [{ counters }] = proxies
  const page = await open(t)
  await page.exposeFunction('hang', () => void proxies[0].fault('hang'))
  await page.exposeFunction('arrived', (method) => counters.until((seen) => seen.of(method) === 1).then(() => true))
  const outcome = await page.evaluate(async ({ providers }) => {
    const { createRpcClient } = await import('/waypost/index.js')
    const rpc = createRpcClient({ providers, singleFlight: true, cache: true })
    const chains = []
    for (let call = 0; call < 3; call += 1) chains.push(...await Promise.all([1, 2].map(() => rpc.request({ method: 'eth_chainId' }))))
    await window.hang()
    const controllers = [1, 2, 3].map(() => new AbortController())
    const calls = controllers.map(({ signal }) => rpc.request({ method: 'eth_gasPrice' }, { signal }).catch(({ name }) => name))
    await window.arrived('eth_gasPrice')
    for (const controller of controllers) controller.abort()
    return { chains: [...new Set(chains)], names: await Promise.all(calls) }
  }, { providers: providersOf(proxies) })
  assert.deepEqual(outcome, { chains: ['0x7a69'], names: ['AbortError', 'AbortError', 'AbortError'] })
  await counters.until(({ aborted }) => aborted === 1)
  assert.deepEqual([counters.of('eth_chainId'), counters.of('eth_gasPrice')], [1, 1])
})
