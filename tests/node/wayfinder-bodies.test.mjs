/** Bodies: every byte, no time limit but silence, and no connection that stays open. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import test, { after } from 'node:test'
import { PriorityRoutingStrategy, StaticRoutingStrategy, Wayfinder } from 'waypost'
import { rejection } from '../support/client.mjs'
import { forbidUnhandled, settle } from '../support/fake-gateways.mjs'
import { CONTENT, IDS, startGateway, startGateways } from '../support/gateway.mjs'

forbidUnhandled(after)

const TEXT = `ar://${IDS.text}`
const BIG = `ar://${IDS.big}`
const TEXT_BODY = 'hello permaweb\n'
const BIG_BODY = CONTENT[IDS.big].body

const listOf = (urls) => ({ getGateways: async () => urls })
const urlsOf = (gateways) => gateways.map(({ url }) => new URL(url))

/** A client that always chooses this gateway. */
const only = ({ url }, options) =>
  new Wayfinder({ routingSettings: { strategy: new StaticRoutingStrategy({ gateway: url }) }, ...options })
const ordered = (gateways, options) => {
  const strategy = new PriorityRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) })
  return new Wayfinder({ routingSettings: { strategy }, ...options })
}

/** A `fetch` whose answer has this body, and what was cancelled of it. */
function streaming(pull) {
  const seen = { cancelled: 0, signals: [] }
  const cancel = () => void (seen.cancelled += 1)
  const fetch = async (_, { signal }) => {
    seen.signals.push(signal)
    return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }))
  }
  return { seen, fetch }
}

test('5 MiB arrive byte for byte, from 20 requests at once as well', async (t) => {
  const gateway = await startGateway(t)
  const { request } = only(gateway)
  assert.ok(Buffer.from(await (await request(BIG)).arrayBuffer()).equals(BIG_BODY))
  const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await request(BIG)).arrayBuffer()))
  for (const body of bodies) assert.ok(Buffer.from(body).equals(BIG_BODY))
})

test('a body can be cloned, read as a stream, and left for later', async (t) => {
  const gateway = await startGateway(t)
  const { request } = only(gateway)
  const response = await request(BIG)
  const copy = response.clone()
  const [one, two] = await Promise.all([response.arrayBuffer(), copy.arrayBuffer()])
  assert.ok(Buffer.from(one).equals(BIG_BODY) && Buffer.from(two).equals(BIG_BODY))
  let size = 0
  for await (const chunk of (await request(BIG)).body) size += chunk.byteLength
  assert.equal(size, BIG_BODY.length)
  const blob = await (await request(TEXT)).blob()
  assert.deepEqual([blob.type.replace(' ', ''), blob.size], ['text/plain;charset=utf-8', 15])
})

test('the time for headers does not cut a body that takes longer', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('slowBody', { chunks: 12, everyMs: 50 })
  const { request } = only(gateway, { attemptTimeoutMs: 250, deadlineMs: 300, idleTimeoutMs: 20_000 })
  const began = performance.now()
  const response = await request(TEXT)
  const arrived = performance.now()
  assert.equal(await response.text(), TEXT_BODY)
  assert.ok(performance.now() - began > 300, 'it took longer than the deadline')
  assert.ok(arrived - began < 300)
})

test('idle time is counted anew with every chunk', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('slowBody', { chunks: 15, everyMs: 60 })
  const { request } = only(gateway, { idleTimeoutMs: 500 })
  assert.equal(await (await request(TEXT)).text(), TEXT_BODY)
})

test('a body that falls silent ends with an error that names gateway and time, and is held against the gateway', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('hangBody', { times: 1 })
  const wayfinder = ordered(gateways, { idleTimeoutMs: 50, circuitBreaker: { failureThreshold: 1 } })
  const response = await wayfinder.request(TEXT)
  const error = await rejection(response.text())
  assert.match(error.message, new RegExp(`${gateways[0].host}.* 50 ms`))
  await gateways[0].counters.idle()
  assert.equal(gateways[0].counters.aborted, 1, 'the connection is closed')
  const status = wayfinder.status().find(({ id }) => id === gateways[0].host)
  assert.equal(status.circuit, 'open')
  const next = await wayfinder.request(TEXT)
  assert.deepEqual([next.gateway.host, await next.text()], [gateways[1].host, TEXT_BODY])
})

test('with default limits bodies that break off open the breaker in the end, although their headers were fine', async (t) => {
  const gateways = await startGateways(t, 2)
  gateways[0].fault('truncated')
  const { request } = ordered(gateways)
  const served = []
  for (let count = 0; count < 20; count += 1) {
    const response = await request(TEXT)
    await response.text().catch(() => undefined)
    served.push(response.gateway.host)
  }
  assert.equal(served[0], gateways[0].host)
  assert.equal(served.at(-1), gateways[1].host, 'the one that breaks off is left')
})

test('a body that breaks off rejects, and counts as a failure', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('truncated', { times: 1 })
  const wayfinder = only(gateway, { circuitBreaker: { failureThreshold: 1 } })
  const response = await wayfinder.request(TEXT)
  await rejection(response.text())
  assert.equal(wayfinder.status()[0].circuit, 'open')
})

test('a caller who reads slowly is not taken for a silent gateway', async () => {
  let sent = 0
  const { fetch, seen } = streaming((sink) => {
    sent += 1
    if (sent > 3) sink.close()
    else sink.enqueue(new Uint8Array([sent]))
  })
  const { request } = only({ url: 'http://a.test' }, { fetch, idleTimeoutMs: 20 })
  const response = await request('ar:///x')
  const reader = response.body.getReader()
  const got = []
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    got.push(...value)
    // As long as three silences.
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
  assert.deepEqual(got, [1, 2, 3])
  assert.equal(seen.signals[0].aborted, false)
})

test('a body that nobody reads is not read ahead, and has no timer', async () => {
  let pulls = 0
  const { fetch, seen } = streaming((sink) => {
    pulls += 1
    sink.enqueue(new Uint8Array(65_536))
  })
  const { request } = only({ url: 'http://a.test' }, { fetch, idleTimeoutMs: 10 })
  const response = await request('ar:///x')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(pulls, 0)
  assert.equal(seen.signals[0].aborted, false)
  await response.body.cancel()
  assert.equal(seen.cancelled, 1)
})

for (const [name, how] of [
  ['cancelled', async (response) => response.body.cancel()],
  ['left in the middle', async (response) => { for await (const _ of response.body) break }],
  ['read in part and cancelled', async (response) => {
    const reader = response.body.getReader()
    await reader.read()
    await reader.cancel()
  }],
]) {
  test(`a body that is ${name} closes the connection, and is no failure of the gateway`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('hangBody')
    const wayfinder = only(gateway, { circuitBreaker: { failureThreshold: 1 } })
    await how(await wayfinder.request(BIG))
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, 1)
    assert.equal(wayfinder.status()[0].circuit, 'closed')
  })
}

for (const when of ['before it is read', 'while it is read']) {
  test(`the signal ends a body ${when}, with its reason, and closes the connection`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('hangBody')
    const wayfinder = only(gateway, { circuitBreaker: { failureThreshold: 1 } })
    const controller = new AbortController()
    const response = await wayfinder.request(BIG, { signal: controller.signal })
    const reason = new DOMException('enough', 'AbortError')
    let read
    if (when === 'while it is read') {
      read = rejection(response.arrayBuffer())
      await settle()
      controller.abort(reason)
    } else {
      controller.abort(reason)
      read = rejection(response.arrayBuffer())
    }
    assert.equal(await read, reason)
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, 1)
    assert.equal(wayfinder.status()[0].circuit, 'closed')
  })
}

test('a signal that fires after the last byte changes nothing', async (t) => {
  const gateway = await startGateway(t)
  const wayfinder = only(gateway)
  const controller = new AbortController()
  const response = await wayfinder.request(TEXT, { signal: controller.signal })
  assert.equal(await response.text(), TEXT_BODY)
  controller.abort()
  await settle()
  assert.equal(wayfinder.status()[0].circuit, 'closed')
})

test('a signal that only limits the time to headers is heeded for the body too', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('hangBody')
  const response = await only(gateway).request(BIG, { signal: AbortSignal.timeout(200) })
  const error = await rejection(response.text())
  assert.match(error.name, /TimeoutError|AbortError/)
  await gateway.counters.idle()
})

/** A gateway that sends the first byte of a 503 and no more; `closed` resolves when the client hangs up. */
async function startEndless(t) {
  let hungUp
  const closed = new Promise((resolve) => (hungUp = resolve))
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('close', hungUp)
    socket.once('data', () => socket.write('HTTP/1.1 503 Busy\r\ncontent-length: 1000\r\n\r\nx'))
    t.after(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${server.address().port}`, closed }
}

test('bodies of 5xx that nobody gets to see are closed', { timeout: 5_000 }, async (t) => {
  const endless = await Promise.all([1, 2, 3].map(() => startEndless(t)))
  const response = await ordered([...endless, await startGateway(t)]).request(TEXT)
  assert.equal(await response.text(), TEXT_BODY)
  await Promise.all(endless.map(({ closed }) => closed))
})

test('if all answer 5xx the bodies of all but the last are closed, and that one can be read', { timeout: 5_000 }, async (t) => {
  const endless = await Promise.all([1, 2].map(() => startEndless(t)))
  const last = await startGateway(t)
  last.fault('status', { status: 503, body: 'busy' })
  const response = await ordered([...endless, last]).request(TEXT)
  await Promise.all(endless.map(({ closed }) => closed))
  assert.equal(await response.text(), 'busy')
})

test('an abort closes a 5xx that was kept for want of better', { timeout: 5_000 }, async (t) => {
  const endless = await startEndless(t)
  const hanging = await startGateway(t)
  hanging.fault('hang')
  const controller = new AbortController()
  const request = rejection(ordered([endless, hanging]).request(TEXT, { signal: controller.signal }))
  await hanging.counters.until(({ total }) => total === 1)
  controller.abort()
  await request
  await Promise.all([endless.closed, hanging.counters.idle()])
})

test('an answer that comes after another has won is closed', async () => {
  let arrive
  const late = new Promise((resolve) => (arrive = resolve))
  let cancelled = 0
  const lateBody = new ReadableStream({ cancel: () => void (cancelled += 1) }, { highWaterMark: 0 })
  // It ignores its signal, as some polyfills do.
  const fetch = async (url) => (String(url).includes('slow') ? late : new Response('quick'))
  const urls = [new URL('http://slow.test'), new URL('http://quick.test')]
  const strategy = new PriorityRoutingStrategy({ gatewaysProvider: listOf(urls) })
  const wayfinder = new Wayfinder({ fetch, routingSettings: { strategy }, attemptTimeoutMs: 50 })
  assert.equal(await (await wayfinder.request('ar:///x')).text(), 'quick')
  arrive(new Response(lateBody))
  await settle()
  assert.equal(cancelled, 1)
})

test('an answer that comes after the caller has aborted is closed', async () => {
  let resolve
  const held = new Promise((settled) => (resolve = settled))
  let cancelled = 0
  const body = new ReadableStream({ cancel: () => void (cancelled += 1) }, { highWaterMark: 0 })
  const controller = new AbortController()
  const request = rejection(only({ url: 'http://a.test' }, { fetch: () => held }).request('ar:///x', { signal: controller.signal }))
  await settle()
  controller.abort()
  await request
  resolve(new Response(body))
  await settle()
  assert.equal(cancelled, 1)
})

test('answers without a body keep their status: 204, 304 and HEAD', async (t) => {
  const gateway = await startGateway(t)
  const { request } = only(gateway)
  for (const status of [204, 304]) {
    gateway.heal().fault('status', { status })
    const response = await request(TEXT)
    assert.deepEqual([response.status, response.body], [status, null])
    assert.equal(response.gateway.host, gateway.host)
  }
})
