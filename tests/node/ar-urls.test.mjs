import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { StaticRoutingStrategy, Wayfinder } from 'waypost'

// `modelUrl` and `modelError` tell where Wayfinder 1.9.2 ends instead.
const vectors = JSON.parse(await readFile(new URL('../vectors/ar-urls.json', import.meta.url), 'utf8'))

const GATEWAY = 'https://gw.test:8443/base/?key=1'

/** A client for one gateway, and what its strategy is asked for. */
function clientFor(gateway) {
  const fixed = new StaticRoutingStrategy({ gateway })
  const asked = []
  const strategy = {
    selectGateway(params) {
      asked.push(params)
      return fixed.selectGateway(params)
    },
  }
  return { wayfinder: new Wayfinder({ routingSettings: { strategy } }), asked }
}

async function resolve(gateway, params) {
  const wayfinder = new Wayfinder({ routingSettings: { strategy: new StaticRoutingStrategy({ gateway }) } })
  return wayfinder.resolveUrl(params)
}

for (const { name, input, gateway, subdomain, url, error } of vectors.addresses) {
  test(`ar:// address: ${name}`, async () => {
    const { wayfinder, asked } = clientFor(gateway)
    const resolved = wayfinder.resolveUrl({ wayfinderUrl: input })
    if (error === undefined) assert.equal((await resolved).href, url)
    else await assert.rejects(resolved, { message: error })
    assert.equal(asked[0].subdomain, subdomain)
    assert.match(asked[0].path, /^\//)
  })
}

for (const { name, input, url, error } of vectors.originalUrls) {
  test(`original URL ${error === undefined ? 'taken' : 'refused'}: ${name}`, async () => {
    const resolved = resolve('https://gw.test', { originalUrl: input })
    if (error === undefined) assert.equal((await resolved).href, url)
    else await assert.rejects(resolved, { message: error })
  })
}

function assertOnGateway(url, input) {
  const seen = `${JSON.stringify(input)} became ${url}`
  assert.ok(url.hostname === 'gw.test' || url.hostname.endsWith('.gw.test'), seen)
  assert.equal(url.protocol, 'https:', seen)
  assert.equal(url.port, '8443', seen)
  assert.equal(url.username + url.password, '', seen)
  assert.equal(new URL(url.href).hostname, url.hostname, seen)
}

test('no address leads away from the gateway', async () => {
  for (const input of vectors.hostile) assertOnGateway(await resolve(GATEWAY, { wayfinderUrl: input }), input)
})

test('no hostile text leads away from the gateway as a name or an id either', async () => {
  for (const input of vectors.hostile) {
    const text = input.slice('ar://'.length)
    assertOnGateway(await resolve(GATEWAY, { arnsName: text }), text)
    assertOnGateway(await resolve(GATEWAY, { txId: text }), text)
  }
})

/** Numbers from 0 up to and without `limit`, the same in every run. */
function seeded(seed) {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

test('2,000 random addresses stay on the gateway or are refused as host names', async () => {
  const pieces = [
    ...'/\\:@?#.%&=;|^<>"`{}[] -_aZ09~!$\'()*+,', '\t', '\n', '\r', '\0', '\x7f',
    // Half a character, and signs that host names turn into dots, at signs, slashes or nothing.
    '\ud800', '\u3002', '\uff0e', '\uff20', '\uff0f', '\u00ad', '\u200d',
    '//', '..', '/../', '%2e', '%2F', '%5c', '%00', 'ar://', 'https://', 'evil.test', 'evil.test/',
    'xn--', 'XN--a', 'name', 'localhost', '10.0.0.5',
    'c7wkwt6TKgcWJUfgvpJ5q5qi4DIZyJ1_TqhjXgURh0U',
  ]
  const random = seeded(20)
  const seen = { 'the gateway': 0, 'a subdomain': 0, refused: 0 }
  for (let count = 0; count < 2000; count += 1) {
    const text = `ar://${Array.from({ length: random(9) }, () => pieces[random(pieces.length)]).join('')}`
    try {
      const url = await resolve(GATEWAY, { wayfinderUrl: text })
      assertOnGateway(url, text)
      seen[url.hostname === 'gw.test' ? 'the gateway' : 'a subdomain'] += 1
    } catch (error) {
      assert.match(error.message, /^"xn--[\w-]*" is no valid host name\. Check the ArNS name\.$/, text)
      seen.refused += 1
    }
  }
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, `no address led to this: ${what}`)
})

test('a name, an id and a URL object are resolved like the address', async () => {
  const id = 'c7wkwt6TKgcWJUfgvpJ5q5qi4DIZyJ1_TqhjXgURh0U'
  const gateway = 'https://gw.test'
  for (const [params, wayfinderUrl] of [
    [{ arnsName: 'ArDrive' }, 'ar://ardrive'],
    [{ txId: id }, `ar://${id}`],
    [{ wayfinderUrl: new URL(`ar://${id}/a?b#c`) }, `ar://${id}/a?b#c`],
    [{ originalUrl: new URL(`https://arweave.net/${id}/a?b#c`) }, `ar://${id}/a?b#c`],
    [{ arnsName: 'ardrive', txId: undefined }, 'ar://ardrive'],
    [{ arnsName: 'ardrive', txId: null }, 'ar://ardrive'],
  ]) {
    const resolved = await resolve(gateway, params)
    assert.ok(resolved instanceof URL)
    assert.equal(resolved.href, (await resolve(gateway, { wayfinderUrl })).href)
  }
})

test('anything but one thing to resolve is refused', async () => {
  const message = 'Invalid URL params, only one of the following is allowed: originalUrl, wayfinderUrl, txId, arnsName'
  const both = { txId: 'abc123', arnsName: 'ardrive' }
  for (const params of [{}, undefined, { arnsName: undefined }, { txId: null }, both, { arnsName: 'ardrive', name: 'ardrive' }]) {
    await assert.rejects(resolve(GATEWAY, params), { message })
  }
  await assert.rejects(resolve(GATEWAY, { name: 'ardrive' }), { message: 'Invalid URL params' })
})

test('an address without ar:// is refused with what was given', async () => {
  for (const wayfinderUrl of ['https://ardrive.arweave.net/x', 'ardrive', ' ar://ardrive', 'ar:/ardrive', '']) {
    const message = `${JSON.stringify(wayfinderUrl)} is no ar:// URL. Use ar://name/path or ar://id/path.`
    await assert.rejects(resolve(GATEWAY, { wayfinderUrl }), { message })
  }
})
