import assert from 'node:assert/strict'
import test from 'node:test'
import { openClient, providerStatus, rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }

for (const fault of ['hang', 'hangBody']) {
  test(`an abort while the provider ${fault}s ends the call, closes the connection and asks nobody else`, async (t) => {
    const proxies = await startMocks(t, 2)
    proxies[0].fault(fault)
    const rpc = openClient(t, proxies)
    const controller = new AbortController()
    const reason = new Error('the user left the page')
    const error = rejection(rpc.request(WHO, { signal: controller.signal }))
    await proxies[0].counters.until(({ bodies }) => bodies === 1)
    controller.abort(reason)
    const { name, cause } = await error
    assert.equal(name, 'AbortError')
    assert.equal(cause, reason)
    await proxies[0].counters.until(({ aborted }) => aborted === 1)
    assert.equal(proxies[1].counters.total, 0)
    const { circuit, consecutiveFailures, inFlight, calls } = providerStatus(rpc, 'a')
    assert.deepEqual({ circuit, consecutiveFailures, inFlight, calls }, {
      circuit: 'closed', consecutiveFailures: 0, inFlight: 0, calls: 0,
    })
    assert.equal(rpc.status().openRequests, 0)
  })
}

test('a signal that is aborted already sends nothing', async (t) => {
  const proxies = await startMocks(t, 1)
  const rpc = openClient(t, proxies)
  const error = await rejection(rpc.request(WHO, { signal: AbortSignal.abort() }))
  assert.equal(error.name, 'AbortError')
  assert.equal(proxies[0].counters.total, 0)
})

test("an abort's own AbortError is passed on as it is", async (t) => {
  const proxies = await startMocks(t, 1)
  proxies[0].fault('hang')
  const controller = new AbortController()
  const error = rejection(openClient(t, proxies).request(WHO, { signal: controller.signal }))
  await proxies[0].counters.until(({ bodies }) => bodies === 1)
  controller.abort()
  assert.equal(await error, controller.signal.reason)
})

test('the time limit of a signal is an abort, too', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('hang')
  const error = await rejection(openClient(t, proxies).request(WHO, { signal: AbortSignal.timeout(80) }))
  assert.equal(error.name, 'AbortError')
  assert.equal(error.cause.name, 'TimeoutError')
  assert.equal(proxies[1].counters.total, 0)
})

test('an abort during the wait for a rate limit ends the wait', { timeout: 20_000 }, async (t) => {
  const proxies = await startMocks(t, 1)
  proxies[0].fault('rateLimited', { retryAfter: 25 })
  const controller = new AbortController()
  const rpc = openClient(t, proxies, { deadlineMs: 60_000 })
  const limited = new Promise((resolve) => rpc.on('ratelimit', resolve))
  const error = rejection(rpc.request(WHO, { signal: controller.signal }))
  await limited
  controller.abort()
  assert.equal((await error).name, 'AbortError')
})

test('aborting one call leaves the others alone', async (t) => {
  const proxies = await startMocks(t, 1)
  proxies[0].fault('slow', { delayMs: 80 })
  const rpc = openClient(t, proxies)
  const controller = new AbortController()
  const aborted = rejection(rpc.request(WHO, { signal: controller.signal }))
  const other = rpc.request(WHO)
  await proxies[0].counters.until(({ bodies }) => bodies === 2)
  controller.abort()
  assert.equal((await aborted).name, 'AbortError')
  assert.equal(await other, 'mock/a')
})

test('a signal that many calls share keeps no listeners', async (t) => {
  const proxies = await startMocks(t, 1)
  const rpc = openClient(t, proxies)
  const controller = new AbortController()
  let listeners = 0
  const { addEventListener, removeEventListener } = EventTarget.prototype
  controller.signal.addEventListener = function (...args) {
    listeners += 1
    return addEventListener.apply(this, args)
  }
  controller.signal.removeEventListener = function (...args) {
    listeners -= 1
    return removeEventListener.apply(this, args)
  }
  for (let call = 0; call < 20; call += 1) await rpc.request(WHO, { signal: controller.signal })
  assert.equal(listeners, 0)
})

test('an abort in the same turn as the call sends nothing, or ends what it sent', { timeout: 20_000 }, async (t) => {
  const proxies = await startMocks(t, 2)
  for (const proxy of proxies) proxy.fault('hang')
  const rpc = openClient(t, proxies, { deadlineMs: 60_000 })
  for (const start of [(signal) => rpc.request(WHO, { signal }), (signal) => rpc.send([{ id: 1, ...WHO }], { signal })]) {
    const controller = new AbortController()
    const error = rejection(start(controller.signal))
    controller.abort()
    assert.equal((await error).name, 'AbortError')
  }
  assert.equal(rpc.status().openRequests, 0)
})
