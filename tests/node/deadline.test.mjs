import assert from 'node:assert/strict'
import test from 'node:test'
import { WaypostError } from 'waypost'
import { openClient, rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }
const DEADLINE_MS = 600
// For the timers of a busy machine. What it guards against is a deadline for every provider.
const SLACK_MS = 500

async function timed(promise) {
  const startedAt = performance.now()
  const error = await rejection(promise)
  return { error, elapsed: performance.now() - startedAt }
}

for (const fault of ['hang', 'hangBody']) {
  for (let count = 1; count <= 12; count += 1) {
    test(`${count} providers that ${fault} take no longer than the deadline together`, async (t) => {
      const proxies = await startMocks(t, count)
      for (const proxy of proxies) proxy.fault(fault)
      const rpc = openClient(t, proxies, { deadlineMs: DEADLINE_MS })
      const { error, elapsed } = await timed(rpc.request(WHO))
      assert.ok(elapsed < DEADLINE_MS + SLACK_MS, `${elapsed} ms`)
      assert.ok(error instanceof WaypostError)
      assert.ok(['deadline', 'exhausted'].includes(error.reason), error.reason)
      assert.equal(error.attempts[0].class, 'timeout')
      await Promise.all(proxies.map(({ counters }) => counters.until(({ aborted, bodies }) => aborted === bodies)))
    })
  }
}

test('a call can bring its own deadline', async (t) => {
  const proxies = await startMocks(t, 2)
  for (const proxy of proxies) proxy.fault('hang')
  const rpc = openClient(t, proxies, { deadlineMs: 60_000 })
  const { elapsed } = await timed(rpc.request(WHO, { deadlineMs: 200 }))
  assert.ok(elapsed < 200 + SLACK_MS, `${elapsed} ms`)
})

test('one hanging provider leaves time for the next one within the deadline, from the first call on', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('hang')
  const rpc = openClient(t, proxies, { deadlineMs: 2_000 })
  for (let call = 0; call < 4; call += 1) assert.equal(await rpc.request(WHO), 'mock/b')
})

test('a provider that hangs opens its circuit, and later calls do not wait for it', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('hang')
  const rpc = openClient(t, proxies, { attemptTimeoutMs: 100 })
  for (let call = 0; call < 10; call += 1) await rpc.request(WHO)
  assert.equal(proxies[0].counters.total, 2)
})
