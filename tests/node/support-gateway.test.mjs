import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { CONTENT, IDS, digestOf, fetchVia, idOf, sandboxOf, startGateway, startGateways } from '../support/gateway.mjs'
import { FAULTS } from '../support/gateway-faults.mjs'

const SITE = `/${IDS.site}`
const TEXT = `/${IDS.text}`
const TEXT_BODY = 'hello permaweb\n'

/** Asks a gateway by its address, without following redirects. */
const ask = (gateway, path, init) => fetch(gateway.url + path, { redirect: 'manual', ...init })

/** Asks a gateway by a name, which only the Host header knows of. */
const askAs = (gateway, hostname, path) => fetchVia(gateway)(gateway.at(hostname) + path, { redirect: 'manual' })

/** A promise that the test resolves. */
function deferred() {
  let resolve
  const promise = new Promise((settle) => (resolve = settle))
  return { promise, resolve }
}

/** Status, text and some headers of an answer. */
const facts = async (response, ...names) =>
  [response.status, await response.text(), ...names.map((name) => response.headers.get(name))]

test('the samples are always the same and their ids are those of their bytes', () => {
  assert.equal(IDS.text, createHash('sha256').update(TEXT_BODY).digest('base64url'))
  assert.equal(IDS.big, 'FrYy8Rz5UN2mfcTBhKP54Kof-kwYknu4l359qXyiW8o')
  assert.equal(CONTENT[IDS.big].body.length, 5 * 1024 * 1024)
  for (const id of Object.values(IDS)) assert.match(id, /^[\w-]{43}$/)
})

test('a sandbox is the base32 of an id', () => {
  const id = 'c7wkwt6TKgcWJUfgvpJ5q5qi4DIZyJ1_TqhjXgURh0U'
  assert.equal(sandboxOf(id), 'oo6cjqw6smvaofrfi7ql5etzvonkfybsdhej272ovbrv4birq5cq')
})

test('an id is served by its path on an address and on localhost', async (t) => {
  const gateway = await startGateway(t, { tag: 'east' })
  const response = await ask(gateway, `${TEXT}?x=1`)
  const names = [
    'content-type', 'content-length', 'x-ar-io-digest', 'x-ar-io-data-id', 'x-ar-io-verified', 'accept-ranges', 'x-test-gateway',
    'access-control-allow-origin', 'access-control-expose-headers', 'x-arns-resolved-id',
  ]
  assert.deepEqual(await facts(response, ...names), [
    200, TEXT_BODY, 'text/plain; charset=utf-8', '15', digestOf(TEXT_BODY), IDS.text, 'true', 'bytes', 'east', '*', '*', null,
  ])
  assert.equal((await askAs(gateway, 'localhost', TEXT)).status, 200)
  assert.equal((await ask(gateway, `${TEXT}/below`)).status, 404)
  assert.equal((await ask(gateway, `/${idOf('nothing')}`)).status, 404)
})

test('a named gateway serves an id only in its sandbox', async (t) => {
  const gateway = await startGateway(t)
  const sandbox = sandboxOf(IDS.text)
  const home = `${gateway.at(`${sandbox}.gw-a.test`)}${TEXT}?x=1`
  assert.deepEqual(await facts(await askAs(gateway, 'gw-a.test', `${TEXT}?x=1`), 'location'), [302, '', home])
  const other = `${sandboxOf(IDS.page)}.gw-a.test`
  assert.deepEqual(await facts(await askAs(gateway, other, `${TEXT}?x=1`), 'location'), [302, '', home])
  assert.deepEqual(await facts(await askAs(gateway, `${sandbox}.gw-a.test`, TEXT)), [200, TEXT_BODY])
  assert.deepEqual(await facts(await askAs(gateway, `${sandbox}.localhost`, TEXT)), [200, TEXT_BODY])
  assert.equal((await askAs(gateway, `${sandbox}.gw-a.test`, '/')).status, 404)
})

test('names and undernames are served in their subdomain', async (t) => {
  const gateway = await startGateway(t)
  const names = ['x-arns-resolved-id', 'x-arns-ttl-seconds', 'x-ar-io-data-id']
  assert.deepEqual(await facts(await askAs(gateway, 'hello.gw-a.test', '/'), ...names), [
    200, TEXT_BODY, IDS.text, '300', IDS.text,
  ])
  assert.deepEqual(await facts(await askAs(gateway, 'docs.gw-a.test', '/a/b.css'), ...names), [
    200, 'h1 { color: teal }\n', IDS.site, '300', IDS.style,
  ])
  assert.match(await (await askAs(gateway, 'docs.gw-a.test', '/')).text(), /<h1>sample/)
  assert.match(await (await askAs(gateway, 'style_docs.gw-a.test', '/')).text(), /teal/)
  assert.deepEqual(await facts(await askAs(gateway, 'unknown.gw-a.test', '/'), 'content-type', names[0]), [
    404, '<!doctype html><title>Not found</title>', 'text/html; charset=utf-8', null,
  ])
})

test('a manifest resolves paths, its index and its fallback', async (t) => {
  const gateway = await startGateway(t)
  assert.deepEqual(await facts(await ask(gateway, `${SITE}?x=1`), 'location'), [301, '', `${SITE}/?x=1`])
  assert.match((await facts(await ask(gateway, `${SITE}/`)))[1], /<h1>sample/)
  assert.deepEqual(await facts(await ask(gateway, `${SITE}/a/b.css?x=1`), 'content-type', 'x-ar-io-data-id'), [
    200, 'h1 { color: teal }\n', 'text/css; charset=utf-8', IDS.style,
  ])
  assert.match((await facts(await ask(gateway, `${SITE}/elsewhere`)))[1], /lost/)
  gateway.content = { ...CONTENT, [IDS.site]: { manifest: { paths: { 'a b.css': IDS.style } } } }
  assert.equal((await ask(gateway, `${SITE}/a%20b.css`)).status, 200)
  assert.equal((await ask(gateway, `${SITE}/elsewhere`)).status, 404)
  assert.equal((await ask(gateway, `${SITE}/`)).status, 404)
})

test('raw data is the manifest itself', async (t) => {
  const gateway = await startGateway(t)
  const response = await ask(gateway, `/raw${SITE}`)
  assert.equal(response.headers.get('content-type'), 'application/x.arweave-manifest+json')
  const text = await response.text()
  assert.equal(idOf(text), IDS.site)
  assert.deepEqual(JSON.parse(text).paths['a/b.css'], { id: IDS.style })
  assert.deepEqual(await facts(await ask(gateway, `/raw${TEXT}`)), [200, TEXT_BODY])
  assert.equal((await ask(gateway, `/raw/${idOf('nothing')}`)).status, 404)
})

test('content may be a test\'s own, with headers that do not tell the truth', async (t) => {
  const id = idOf('own')
  const content = { [id]: { body: 'own', headers: { 'x-ar-io-digest': 'wrong', 'x-ar-io-verified': 'false' } } }
  const gateway = await startGateway(t, { content, names: { mine: id } })
  const names = ['content-type', 'x-ar-io-digest', 'x-ar-io-verified']
  assert.deepEqual(await facts(await askAs(gateway, 'mine.gw-a.test', '/'), ...names), [
    200, 'own', 'application/octet-stream', 'wrong', 'false',
  ])
})

test('the endpoints of a gateway answer on its own name', async (t) => {
  const gateway = await startGateway(t, { peers: ['http://127.0.0.1:1984', 'https://peer.test'] })
  assert.deepEqual(await facts(await ask(gateway, '/')), [200, 'gateway a\n'])
  assert.deepEqual(await (await ask(gateway, '/ar-io/peers')).json(), {
    gateways: { '127.0.0.1:1984': { url: 'http://127.0.0.1:1984' }, 'peer.test': { url: 'https://peer.test' } },
  })
  gateway.peers = []
  assert.deepEqual(await (await askAs(gateway, 'gw-a.test', '/ar-io/peers')).json(), { gateways: {} })
  assert.equal((await (await ask(gateway, '/ar-io/healthcheck')).json()).message, 'healthy')
  assert.equal((await (await ask(gateway, '/ar-io/info')).json()).release, 'mock')
  const query = JSON.stringify({ query: '{ block { id } }' })
  assert.deepEqual(await facts(await ask(gateway, '/graphql', { method: 'POST', body: query })), [200, query])
  assert.equal((await ask(gateway, '/', { method: 'POST', body: query })).status, 404)
  assert.equal((await ask(gateway, '/', { method: 'DELETE' })).status, 405)
  assert.equal((await ask(gateway, '/elsewhere')).status, 404)
})

test('HEAD has the headers of GET and no body', async (t) => {
  const gateway = await startGateway(t)
  const [got, head] = [await ask(gateway, TEXT), await ask(gateway, TEXT, { method: 'HEAD' })]
  const lasting = (response) => [...response.headers].filter(([name]) => !['date', 'connection'].includes(name))
  assert.deepEqual(lasting(head), lasting(got))
  assert.deepEqual([await got.text(), await head.text()], [TEXT_BODY, ''])
})

test('ranges are answered in part, or refused', async (t) => {
  const gateway = await startGateway(t)
  const part = async (range, method = 'GET') =>
    facts(await ask(gateway, TEXT, { method, headers: { range } }), 'content-range')
  assert.deepEqual(await part('bytes=0-4'), [206, 'hello', 'bytes 0-4/15'])
  assert.deepEqual(await part('bytes=6-'), [206, 'permaweb\n', 'bytes 6-14/15'])
  assert.deepEqual(await part('bytes=-4'), [206, 'web\n', 'bytes 11-14/15'])
  assert.deepEqual(await part('bytes=-99'), [206, TEXT_BODY, 'bytes 0-14/15'])
  assert.deepEqual(await part('bytes=10-99'), [206, 'aweb\n', 'bytes 10-14/15'])
  assert.deepEqual(await part('bytes=15-'), [416, '', 'bytes */15'])
  assert.deepEqual(await part('bytes=-0'), [416, '', 'bytes */15'])
  assert.deepEqual(await part('bytes=0-1,4-5'), [200, TEXT_BODY, null])
  assert.deepEqual(await part('bytes=-'), [200, TEXT_BODY, null])
  assert.deepEqual(await part('bytes=0-4', 'HEAD'), [200, '', null])
})

test('a client that has the data is told so', async (t) => {
  const gateway = await startGateway(t)
  const etag = (await ask(gateway, TEXT)).headers.get('etag')
  const status = async (known) => (await ask(gateway, TEXT, { headers: { 'if-none-match': known } })).status
  assert.deepEqual(await Promise.all([etag, `"x", W/${etag}`, '*', '"x"'].map(status)), [304, 304, 304, 200])
})

test('preflight requests are allowed and counted apart', async (t) => {
  const gateway = await startGateway(t)
  const headers = { 'access-control-request-headers': 'range' }
  const response = await ask(gateway, TEXT, { method: 'OPTIONS', headers })
  assert.deepEqual(await facts(response, 'access-control-allow-headers'), [204, '', '*'])
  const { counters } = gateway
  assert.deepEqual([counters.of('OPTIONS'), counters.preflights, counters.total], [1, ['range'], 0])
})

test('requests are counted by method and path', async (t) => {
  const { counters, ...gateway } = await startGateway(t)
  for (const [path, method] of [['/', 'HEAD'], ['/?x', 'HEAD'], ['/', 'GET'], [TEXT, 'GET']]) {
    await (await ask(gateway, path, { method })).text()
  }
  assert.deepEqual(counters.hits, { HEAD: 2, GET: 2 })
  assert.deepEqual([counters.of('GET'), counters.of('HEAD', '/'), counters.of('HEAD', TEXT)], [2, 2, 0])
  assert.deepEqual(counters.paths, { '/': { HEAD: 2, GET: 1 }, [TEXT]: { GET: 1 } })
  assert.deepEqual(counters.targets, ['/', '/?x', '/', TEXT])
  await counters.idle()
  assert.equal(counters.aborted, 0)
  counters.reset()
  assert.deepEqual([counters.total, counters.paths], [0, {}])
})

test('requests that run and connections that are open are counted', async (t) => {
  const gateway = await startGateway(t)
  const { promise, resolve } = deferred()
  gateway.fault('held', { until: promise })
  const answers = [fetchVia(gateway)(gateway.url), fetchVia(gateway)(gateway.url)]
  await gateway.counters.until(({ running, sockets }) => running === 2 && sockets === 2)
  resolve()
  assert.deepEqual((await Promise.all(answers)).map(({ status }) => status), [200, 200])
  for (const answer of answers) await (await answer).text()
  await gateway.counters.idle()
  await gateway.counters.until(({ sockets }) => sockets === 0)
  assert.equal(gateway.counters.aborted, 0)
})

test('a gateway refuses connections and accepts them again on the same port', async (t) => {
  const gateway = await startGateway(t)
  await gateway.refuse()
  await assert.rejects(ask(gateway, '/'), ({ cause }) => cause.code === 'ECONNREFUSED')
  await gateway.accept()
  assert.equal((await ask(gateway, '/')).status, 200)
})

test('answer faults give the answers they name', async (t) => {
  const gateway = await startGateway(t)
  const answerTo = async (name, options, ...headers) => {
    gateway.heal().fault(name, options)
    return facts(await ask(gateway, TEXT), ...headers, 'access-control-allow-origin', 'x-test-gateway')
  }
  for (const status of [404, 405, 500, 503]) {
    assert.deepEqual(await answerTo('status', { status, body: 'no' }), [status, 'no', '*', 'a'])
  }
  assert.equal((await answerTo('status'))[0], 503)
  const limited = { status: 429, headers: { 'retry-after': '7' } }
  assert.deepEqual(await answerTo('status', limited, 'retry-after'), [429, '', '7', '*', 'a'])
  assert.deepEqual(await answerTo('status', { status: 304 }, 'content-length'), [304, '', null, '*', 'a'])
  const location = 'http://gw-b.test/'
  assert.deepEqual(await answerTo('redirect', { location }, 'location'), [302, '', location, '*', 'a'])
  assert.deepEqual(await answerTo('redirect', { location, status: 307 }, 'location'), [307, '', location, '*', 'a'])
  gateway.heal()
  assert.deepEqual(await facts(await ask(gateway, TEXT)), [200, TEXT_BODY])
})

test('a fault concerns its method, its path and its number of times only', async (t) => {
  const gateway = await startGateway(t)
  const status = async (method, path) => (await ask(gateway, path, { method })).status
  gateway.fault('status', { status: 405, method: 'HEAD' })
  assert.deepEqual([await status('HEAD', '/'), await status('GET', '/')], [405, 200])
  gateway.heal().fault('status', { status: 500, path: '/ar-io/peers' })
  assert.deepEqual([await status('GET', '/ar-io/peers?x'), await status('GET', '/')], [500, 200])
  gateway.heal().fault('status', { status: 500, times: 1 }).fault('status', { status: 503, times: 1 })
  assert.deepEqual([await status('GET', '/'), await status('GET', '/'), await status('GET', '/')], [500, 503, 200])
  assert.throws(() => gateway.fault('rest'), new RegExp(Object.keys(FAULTS)[0]))
})

test('connection faults break the exchange where they say', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('reset', { times: 1 })
  await assert.rejects(ask(gateway, TEXT), ({ cause }) => cause.code === 'ECONNRESET')
  gateway.fault('truncated', { times: 1 })
  const truncated = await ask(gateway, TEXT)
  assert.equal(truncated.headers.get('content-length'), '15')
  const reader = truncated.body.getReader()
  assert.equal(Buffer.from((await reader.read()).value).toString(), 'hello pe')
  await assert.rejects(reader.read(), TypeError)
  await gateway.counters.idle()
  assert.equal(gateway.counters.aborted, 0)
})

test('a client that gives up before the headers is counted', async (t) => {
  const gateway = await startGateway(t)
  for (const [given, name] of ['hang', 'slow'].entries()) {
    gateway.heal().fault(name, { delayMs: 600_000 })
    const controller = new AbortController()
    const answer = ask(gateway, TEXT, { signal: controller.signal })
    await gateway.counters.until(({ total }) => total === given + 1)
    controller.abort()
    await assert.rejects(answer, { name: 'AbortError' })
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, given + 1)
  }
})

test('a client that gives up within the body is counted', async (t) => {
  const gateway = await startGateway(t)
  for (const [given, name] of ['hangBody', 'slowBody'].entries()) {
    gateway.heal().fault(name, { everyMs: 600_000 })
    const controller = new AbortController()
    const response = await ask(gateway, TEXT, { signal: controller.signal })
    assert.equal(response.headers.get('content-length'), '15')
    const body = response.text()
    controller.abort()
    await assert.rejects(body, { name: 'AbortError' })
    await gateway.counters.idle()
    assert.equal(gateway.counters.aborted, given + 1)
  }
})

test('an answer that was held for a client which is gone is given to nobody', async (t) => {
  const gateway = await startGateway(t)
  const { promise, resolve } = deferred()
  gateway.fault('held', { until: promise, times: 1 })
  const controller = new AbortController()
  const answer = ask(gateway, TEXT, { signal: controller.signal })
  await gateway.counters.until(({ running }) => running === 1)
  controller.abort()
  await assert.rejects(answer, { name: 'AbortError' })
  await gateway.counters.idle()
  assert.equal(gateway.counters.aborted, 1)
  resolve()
  assert.deepEqual(await facts(await ask(gateway, TEXT)), [200, TEXT_BODY])
})

test('a slow gateway answers in the end, and its body arrives in pieces', async (t) => {
  const gateway = await startGateway(t)
  gateway.fault('slow', { delayMs: 1, times: 1 })
  assert.deepEqual(await facts(await ask(gateway, TEXT)), [200, TEXT_BODY])
  gateway.fault('slowBody', { chunks: 3, everyMs: 1 })
  const response = await ask(gateway, TEXT)
  assert.deepEqual(await facts(response, 'content-length'), [200, TEXT_BODY, '15'])
})

test('body faults leave HEAD alone', async (t) => {
  const gateway = await startGateway(t)
  for (const name of ['hangBody', 'truncated', 'slowBody']) {
    gateway.heal().fault(name, { everyMs: 600_000 })
    assert.equal((await ask(gateway, TEXT, { method: 'HEAD' })).headers.get('content-length'), '15')
    await gateway.counters.idle()
  }
})

test('several gateways serve the same under tags of their own', async (t) => {
  const gateways = await startGateways(t, 3)
  const answers = await Promise.all(gateways.map((gateway) => ask(gateway, TEXT)))
  assert.deepEqual(answers.map(({ headers }) => headers.get('x-test-gateway')), ['a', 'b', 'c'])
  assert.equal(new Set(gateways.map(({ port }) => port)).size, 3)
})
