/** Verification by a strategy of the user's, and retrieval by one. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test, { after } from 'node:test'
import { createWayfinderClient, PriorityRoutingStrategy, StaticRoutingStrategy, Wayfinder } from 'waypost'
import { rejection } from '../support/client.mjs'
import { fakeGateways, forbidUnhandled, settle } from '../support/fake-gateways.mjs'
import { CONTENT, digestOf, fetchVia, IDS, startGateway, startGateways } from '../support/gateway.mjs'

forbidUnhandled(after)

const TEXT = `ar://${IDS.text}`
const BIG = `ar://${IDS.big}`
const TEXT_BODY = 'hello permaweb\n'
const NAMES = ['verification-succeeded', 'verification-failed', 'verification-progress']

const listOf = (urls) => ({ getGateways: async () => urls })
const urlsOf = (gateways) => gateways.map(({ url }) => new URL(url))
const staticOf = ({ url }) => new StaticRoutingStrategy({ gateway: url })
const ordered = (gateways) => new PriorityRoutingStrategy({ gatewaysProvider: listOf(urlsOf(gateways)) })

/** Compares the hash of the data with the gateway's header, as Wayfinder's own strategy does. */
function hashVerifier() {
  const verifier = {
    seen: [],
    trustedGateways: [],
    async verifyData({ data, headers, txId, raw }) {
      const hash = createHash('sha256')
      let size = 0
      for await (const chunk of data) {
        hash.update(chunk)
        size += chunk.byteLength
      }
      verifier.seen.push({ headers, txId, raw, size })
      if (hash.digest('base64url') !== headers['x-ar-io-digest']) throw new Error('Hash does not match')
    },
  }
  return verifier
}

/** A verifier that only looks at what it gets. */
function spyVerifier(verify = async ({ data }) => { for await (const _ of data); }) {
  const seen = []
  return { seen, verifyData: (params) => { seen.push(params); return verify(params) } }
}

/** A client, and everything its emitter says of verification. */
function verifying(gateway, strategy, settings = {}) {
  const wayfinder = new Wayfinder({ routingSettings: { strategy: staticOf(gateway) }, verificationSettings: { strategy, ...settings } })
  const heard = []
  for (const name of NAMES) wayfinder.emitter.on(name, (payload) => heard.push([name, payload]))
  const verdicts = () => heard.filter(([name]) => name !== 'verification-progress')
  const verdict = () => new Promise((resolve) => {
    for (const name of NAMES.slice(0, 2)) wayfinder.emitter.once(name, resolve)
  })
  return { wayfinder, request: wayfinder.request, heard, verdicts, verdict }
}

const wrongDigest = (gateway) => {
  gateway.fault('status', { status: 200, body: 'something else', headers: { 'x-ar-io-digest': digestOf('else') } })
}

for (const strict of [false, true]) {
  test(`${strict ? 'strict' : 'lenient'}: data that is right arrives whole, and is reported once`, async (t) => {
    const gateway = await startGateway(t)
    const strategy = hashVerifier()
    const { request, heard, verdicts, verdict } = verifying(gateway, strategy, { strict })
    const ended = verdict()
    const response = await request(BIG)
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(CONTENT[IDS.big].body))
    assert.deepEqual(await ended, { txId: IDS.big })
    assert.deepEqual(verdicts(), [['verification-succeeded', { txId: IDS.big }]])
    assert.deepEqual([strategy.seen[0].txId, strategy.seen[0].size], [IDS.big, CONTENT[IDS.big].body.length])
    const progress = heard.filter(([name]) => name === 'verification-progress').map(([, payload]) => payload)
    assert.ok(progress.length > 0)
    const sizes = progress.map(({ processedBytes }) => processedBytes)
    assert.deepEqual(sizes, [...new Set(sizes)].sort((a, b) => a - b), 'it only grows')
    assert.deepEqual(progress.at(-1), { txId: IDS.big, processedBytes: 5_242_880, totalBytes: 5_242_880 })
    assert.equal(response.gateway.host, gateway.host)
    assert.ok(response.url.startsWith(gateway.url))
  })
}

test('strict: data that is wrong ends with an error whose cause is the verifier’s', async (t) => {
  const gateway = await startGateway(t)
  wrongDigest(gateway)
  const { request, verdicts } = verifying(gateway, hashVerifier(), { strict: true })
  const response = await request(TEXT)
  assert.equal(response.status, 200)
  const error = await rejection(response.text())
  assert.equal(error.message, 'Verification failed')
  assert.equal(error.cause.message, 'Hash does not match')
  assert.equal(verdicts().length, 1)
  assert.equal(verdicts()[0][0], 'verification-failed')
  assert.ok(verdicts()[0][1] instanceof Error)
})

test('strict: the end of the body waits for the verdict', async (t) => {
  const gateway = await startGateway(t)
  let decide
  const decided = new Promise((resolve) => (decide = resolve))
  const strategy = spyVerifier(async ({ data }) => { for await (const _ of data); await decided })
  const { request } = verifying(gateway, strategy, { strict: true })
  let isRead = false
  const text = (await request(TEXT)).text().then((body) => { isRead = true; return body })
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(isRead, false)
  decide()
  assert.equal(await text, TEXT_BODY)
})

test('lenient: data that is wrong arrives, and is reported once', async (t) => {
  const gateway = await startGateway(t)
  wrongDigest(gateway)
  const { request, verdicts, verdict } = verifying(gateway, hashVerifier())
  const ended = verdict()
  assert.equal(await (await request(TEXT)).text(), 'something else')
  assert.ok((await ended) instanceof Error)
  assert.equal(verdicts().length, 1)
})

for (const strict of [false, true]) {
  for (const [name, verify] of [
    ['rejects at once', async () => { throw new Error('too early') }],
    ['throws', () => { throw new Error('too early') }],
    ['cancels the data and rejects', async ({ data }) => { await data.cancel(); throw new Error('too early') }],
  ]) {
    test(`${strict ? 'strict' : 'lenient'}: a verifier that ${name} before the body is read breaks nothing else`, async (t) => {
      const gateway = await startGateway(t)
      const { request, verdicts } = verifying(gateway, spyVerifier(verify), { strict })
      const response = await request(BIG)
      await settle()
      if (strict) assert.equal((await rejection(response.arrayBuffer())).cause.message, 'too early')
      else assert.equal((await response.arrayBuffer()).byteLength, 5_242_880)
      assert.deepEqual(verdicts().map(([event]) => event), ['verification-failed'])
    })
  }

  test(`${strict ? 'strict' : 'lenient'}: a caller who cancels closes the connection`, { timeout: 5_000 }, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('hangBody')
    const { request } = verifying(gateway, spyVerifier(), { strict })
    const response = await request(BIG)
    const reader = response.body.getReader()
    await reader.read()
    await reader.cancel()
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, 1)
  })

  test(`${strict ? 'strict' : 'lenient'}: a body that breaks off rejects`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('truncated')
    const { request } = verifying(gateway, hashVerifier(), { strict })
    await rejection((await request(TEXT)).text())
    await settle()
  })
}

test('enabled: false is off, in the constructor and for one request', async (t) => {
  const gateway = await startGateway(t)
  const strategy = spyVerifier()
  const off = verifying(gateway, strategy, { enabled: false })
  await (await off.request(TEXT)).text()
  const on = verifying(gateway, strategy)
  await (await on.request(TEXT, { verificationSettings: { enabled: false } })).text()
  assert.equal(strategy.seen.length, 0)
  assert.deepEqual([...off.heard, ...on.heard], [])
  await (await off.request(TEXT, { verificationSettings: { enabled: true } })).text()
  assert.equal(strategy.seen.length, 1)
})

test('a strategy of one request is used for that alone', async (t) => {
  const gateway = await startGateway(t)
  const strategy = spyVerifier()
  const own = spyVerifier()
  const { request } = verifying(gateway, strategy)
  await (await request(TEXT, { verificationSettings: { enabled: true, strategy: own, strict: true } })).text()
  await (await request(TEXT)).text()
  assert.deepEqual([own.seen.length, strategy.seen.length], [1, 1])
})

test('what is set later counts from the next request on', async (t) => {
  const gateway = await startGateway(t)
  wrongDigest(gateway)
  const wayfinder = new Wayfinder({ routingSettings: { strategy: staticOf(gateway) } })
  const read = async () => (await wayfinder.request(TEXT)).text()
  await read()
  const [first, second] = [spyVerifier(), hashVerifier()]
  wayfinder.setVerificationStrategy(first)
  await read()
  assert.equal(first.seen.length, 1)
  wayfinder.enableVerification({ strict: true, strategy: second })
  assert.equal((await rejection(read())).message, 'Verification failed')
  wayfinder.disableVerification()
  await read()
  assert.deepEqual([first.seen.length, second.seen.length], [1, 1])
})

test('enabled without a strategy is refused wherever it is asked for', async (t) => {
  const gateway = await startGateway(t)
  const wayfinder = new Wayfinder({ routingSettings: { strategy: staticOf(gateway) } })
  const message = /not available yet/
  assert.throws(() => new Wayfinder({ verificationSettings: { enabled: true } }), message)
  assert.throws(() => createWayfinderClient({ verificationSettings: { enabled: true } }), message)
  assert.throws(() => wayfinder.enableVerification(), message)
  await assert.rejects(wayfinder.request(TEXT, { verificationSettings: { enabled: true } }), message)
  assert.equal(gateway.counters.total, 0)
  assert.equal(await (await wayfinder.request(TEXT)).text(), TEXT_BODY, 'nothing was switched on')
})

test('raw: for /raw/ paths that are not names, or as it is set', async (t) => {
  fakeGateways(t, { 'https://': { body: 'data' } })
  const strategy = spyVerifier()
  const { request } = verifying({ url: 'https://a.test' }, strategy)
  const rawOf = async (input, verificationSettings) => {
    strategy.seen.length = 0
    await (await request(input, verificationSettings && { verificationSettings })).text()
    return strategy.seen.map(({ raw, txId }) => [raw, txId])
  }
  assert.deepEqual(await rawOf(TEXT), [[false, IDS.text]])
  assert.deepEqual(await rawOf(TEXT, { raw: true }), [[true, IDS.text]])
  assert.deepEqual((await rawOf('ar://hello/raw/x')).map(([raw]) => raw), [false], 'a path of a name is no raw path')
})

for (const [what, headers, id] of [
  ['x-ar-io-data-id', { 'x-ar-io-data-id': IDS.page, 'x-arns-resolved-id': IDS.style }, IDS.page],
  ['x-arns-resolved-id', { 'x-arns-resolved-id': IDS.style }, IDS.style],
  ['the id of the address', {}, IDS.text],
]) {
  test(`the id that is verified: ${what}`, async (t) => {
    const gateway = await startGateway(t)
    gateway.fault('status', { status: 200, body: 'data', headers })
    const strategy = spyVerifier()
    await (await verifying(gateway, strategy).request(TEXT)).text()
    assert.equal(strategy.seen[0].txId, id)
    for (const [name, value] of Object.entries(headers)) assert.equal(strategy.seen[0].headers[name], value)
  })
}

test('names are verified by the id that they resolve to', async (t) => {
  const gateway = await startGateway(t)
  t.mock.method(globalThis, 'fetch', fetchVia())
  const strategy = hashVerifier()
  const { request } = verifying({ url: gateway.at('gw-a.test') }, strategy, { strict: true })
  assert.equal(await (await request('ar://hello')).text(), TEXT_BODY)
  assert.equal(strategy.seen[0].txId, IDS.text)
})

test('endpoints of the gateway, errors and answers without a body are not verified', async (t) => {
  const gateway = await startGateway(t)
  const strategy = spyVerifier()
  const { request } = verifying(gateway, strategy, { strict: true })
  await (await request('ar:///ar-io/info')).text()
  await request(TEXT, { method: 'HEAD' })
  gateway.fault('status', { status: 404, body: 'no' })
  assert.equal(await (await request(TEXT)).text(), 'no')
  gateway.heal().fault('status', { status: 503, body: 'busy' })
  assert.equal(await (await request(TEXT)).text(), 'busy')
  assert.equal(strategy.seen.length, 0)
})

test('callbacks of verification: once for each verdict, wherever they are given', async (t) => {
  const gateway = await startGateway(t)
  const heard = []
  const events = (place) => ({
    onVerificationSucceeded: () => heard.push(`${place} succeeded`),
    onVerificationFailed: () => heard.push(`${place} failed`),
  })
  const { request } = createWayfinderClient({
    routingStrategy: staticOf(gateway), verificationStrategy: hashVerifier(), strict: true, events: events('client'),
  })
  const verificationSettings = { events: events('request') }
  await (await request(TEXT, { verificationSettings })).text()
  await settle()
  assert.deepEqual(heard.sort(), ['client succeeded', 'request succeeded'])
  heard.length = 0
  wrongDigest(gateway)
  await rejection((await request(TEXT, { verificationSettings })).text())
  assert.deepEqual(heard.sort(), ['client failed', 'request failed'])
})

test('a retrieval strategy gets gateway, address and headers, and its failures fail over', async (t) => {
  const gateways = await startGateways(t, 3)
  const urls = urlsOf(gateways)
  const seen = []
  const dataRetrievalStrategy = {
    async getData(params) {
      assert.equal(this, dataRetrievalStrategy)
      seen.push(params)
      if (seen.length === 1) throw new Error('not there')
      if (seen.length === 2) return new Response('busy', { status: 502 })
      return new Response('data', { headers: { 'x-own': 'yes' } })
    },
  }
  const strategy = new PriorityRoutingStrategy({ gatewaysProvider: listOf(urls) })
  const { request } = new Wayfinder({ routingSettings: { strategy }, dataRetrievalStrategy })
  const response = await request(TEXT, { headers: { 'X-Mine': 'm', Range: 'bytes=0-3' } })
  assert.deepEqual([response.status, await response.text(), response.headers.get('x-own')], [200, 'data', 'yes'])
  assert.equal(response.gateway, urls[2])
  assert.deepEqual(seen.map(({ gateway }) => gateway), urls)
  seen.forEach(({ gateway, requestUrl, headers, signal }, at) => {
    assert.equal(gateway, urls[at])
    assert.ok(requestUrl instanceof URL)
    assert.equal(requestUrl.href, `${gateways[at].url}/${IDS.text}`)
    assert.deepEqual(headers, { 'x-mine': 'm', 'range': 'bytes=0-3' })
    assert.ok(signal instanceof AbortSignal)
  })
  assert.ok(gateways.every(({ counters }) => counters.total === 0))
})

test('what a retrieval strategy brings is verified too', async (t) => {
  const gateways = await startGateways(t, 1)
  const strategy = spyVerifier()
  const dataRetrievalStrategy = { getData: async () => new Response('data') }
  const routingSettings = { strategy: ordered(gateways) }
  const { request } = new Wayfinder({ routingSettings, dataRetrievalStrategy, verificationSettings: { strategy } })
  assert.equal(await (await request(TEXT)).text(), 'data')
  assert.equal(strategy.seen[0].txId, IDS.text)
})
