import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { IDS, fetchVia, sandboxOf, startGateway, startGateways } from '../support/gateway.mjs'

const TEXT = `/${IDS.text}`
const TEXT_BODY = 'hello permaweb\n'

test('the fetch of the tests reaches a gateway by any name', async (t) => {
  const [a, b] = await startGateways(t, 2)
  const tagOf = async (fetched) => (await fetched).headers.get('x-test-gateway')
  assert.equal(await tagOf(fetchVia()(a.at('gw-a.test'))), 'a')
  assert.equal(await tagOf(fetchVia()(new URL(b.at('gw-b.test')))), 'b')
  assert.equal(await tagOf(fetchVia(b)('https://gateway.test/')), 'b')
  assert.equal(a.counters.headers[0].host, `gw-a.test:${a.port}`)
  await fetchVia(a)(new Request(a.url, { method: 'POST', headers: { 'x-own': '1' }, body: 'text' }))
  const [, sent] = a.counters.headers
  assert.deepEqual([a.counters.of('POST'), sent['x-own'], sent['content-length']], [1, '1', '4'])
})

test('the fetch of the tests follows redirects as it is told', async (t) => {
  const gateway = await startGateway(t)
  const asked = gateway.at('gw-a.test') + TEXT
  const followed = await fetchVia()(asked)
  assert.deepEqual([followed.status, followed.redirected, await followed.text()], [200, true, TEXT_BODY])
  assert.equal(followed.url, gateway.at(`${sandboxOf(IDS.text)}.gw-a.test`) + TEXT)
  const manual = await fetchVia()(asked, { redirect: 'manual' })
  assert.deepEqual([manual.status, manual.redirected, manual.url], [302, false, asked])
  await assert.rejects(fetchVia()(asked, { redirect: 'error' }), TypeError)
  gateway.fault('redirect', { location: '/again' })
  await assert.rejects(fetchVia()(asked), ({ cause }) => /redirect count/.test(cause.message))
})

test('the fetch of the tests streams bodies and has none where there is none', async (t) => {
  const gateway = await startGateway(t)
  const big = await fetchVia(gateway)(`${gateway.url}/${IDS.big}`)
  const hash = createHash('sha256')
  let chunks = 0
  for await (const chunk of big.body) {
    chunks += 1
    hash.update(chunk)
  }
  assert.equal(hash.digest('base64url'), IDS.big)
  assert.ok(chunks > 1, `${chunks} chunks`)
  assert.equal((await fetchVia(gateway)(gateway.url, { method: 'HEAD' })).body, null)
  gateway.fault('status', { status: 304 })
  assert.equal((await fetchVia(gateway)(gateway.url)).body, null)
})

test('the fetch of the tests ends as the signal or the connection does', async (t) => {
  const gateway = await startGateway(t)
  const via = fetchVia(gateway)
  const reason = new Error('enough')
  await assert.rejects(via(gateway.url, { signal: AbortSignal.abort(reason) }), reason)
  assert.equal(gateway.counters.total, 0)

  const controller = new AbortController()
  gateway.fault('hang', { times: 1 })
  const hanging = via(new Request(gateway.url, { signal: controller.signal }))
  await gateway.counters.until(({ total }) => total === 1)
  controller.abort(reason)
  await assert.rejects(hanging, reason)
  await gateway.counters.idle()
  assert.equal(gateway.counters.aborted, 1)

  const later = new AbortController()
  gateway.fault('hangBody', { times: 1 })
  const body = (await via(gateway.url, { signal: later.signal })).text()
  later.abort(reason)
  await assert.rejects(body, reason)
  await gateway.counters.idle()
  assert.equal(gateway.counters.aborted, 2)

  gateway.fault('hangBody', { times: 1 })
  await (await via(gateway.url)).body.cancel()
  await gateway.counters.idle()
  assert.equal(gateway.counters.aborted, 3)

  gateway.fault('reset', { times: 1 })
  await assert.rejects(via(gateway.url), ({ message, cause }) => message === 'fetch failed' && cause.code === 'ECONNRESET')
  gateway.fault('truncated', { times: 1 })
  await assert.rejects((await via(gateway.url)).text(), { name: 'TypeError', message: 'terminated' })
})
