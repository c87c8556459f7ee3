import assert from 'node:assert/strict'
import test from 'node:test'
import { createRpcClient, createRpcHandler } from 'waypost'

const IDS = ['alchemy', 'infura', 'publicnode']
const CALL = '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}'
const JSON_TYPE = { 'content-type': 'application/json' }

/** Two profiles with the same chains and providers; each provider answers with its id, chain and profile. */
function profiles() {
  const providers = (profile, chain) => IDS.map((id, priority) => ({ id, priority, url: `https://${id}.${chain}.${profile}.test/` }))
  const chains = (profile) => ({
    ethereum: { chainId: 1, aliases: ['mainnet'], providers: providers(profile, 'ethereum') },
    base: { chainId: 8453, providers: providers(profile, 'base') },
  })
  return { default: { chains: chains('default') }, testnet: { chains: chains('testnet') } }
}

/** A handler over these providers; `hosts` is who was asked, `answers` replaces answers: provider id -> (call) => Response. */
function openHandler(t, options, answers = {}) {
  const hosts = []
  const rpc = createRpcClient({
    profiles: profiles(),
    seed: 1,
    fetch: async (url, { body }) => {
      const { host } = new URL(url)
      hosts.push(host.replace(/\.test$/, ''))
      const call = JSON.parse(body)
      return answers[host.split('.')[0]]?.(call) ?? Response.json({ jsonrpc: '2.0', id: call.id, result: host.replace(/\.test$/, '') })
    },
  })
  t.after(() => rpc.dispose())
  const { fetch } = createRpcHandler(rpc, options)
  /** Sends a request; the body comes back parsed. */
  const ask = async (path, { headers = JSON_TYPE, method = 'POST', body = method === 'POST' ? CALL : undefined, ...init } = {}) => {
    const response = await fetch(new Request(`https://edge.test${path}`, { method, headers, body, ...init }))
    const text = await response.text()
    return { response, status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
  }
  const routed = async (path, headers = {}) => {
    const { body, status } = await ask(`${path}${path.includes('?') ? '&' : '?'}include_meta=body`, { headers: { ...JSON_TYPE, ...headers } })
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
    return { result: body.result, ...body.lasso_meta }
  }
  return { ask, routed, hosts, rpc }
}

const metaOf = (headers) => JSON.parse(Buffer.from(headers.get('x-lasso-meta'), 'base64url'))

const STRATEGIES = {
  'load-balanced': 'load_balanced', load_balanced: 'load_balanced', 'round-robin': 'load_balanced', round_robin: 'load_balanced',
  fastest: 'fastest', 'latency-weighted': 'latency_weighted', latency_weighted: 'latency_weighted', priority: 'priority',
  adaptive: 'adaptive',
}

for (const [scope, profile] of [['', 'default'], ['/profile/testnet', 'testnet'], ['/profile/default', 'default']]) {
  test(`every route leads to its chain, strategy and provider: /rpc${scope}`, async (t) => {
    const { routed } = openHandler(t)
    for (const chain of ['ethereum', 'base']) {
      const plain = await routed(`/rpc${scope}/${chain}`)
      assert.deepEqual([plain.chain, plain.profile, plain.strategy], [chain, profile, 'load_balanced'])
      assert.match(plain.result, new RegExp(`^\\w+\\.${chain}\\.${profile}$`))
      for (const [word, strategy] of Object.entries(STRATEGIES)) {
        const meta = await routed(`/rpc${scope}/${word}/${chain}`)
        assert.deepEqual([meta.chain, meta.profile, meta.strategy], [chain, profile, strategy], word)
        assert.match(meta.result, new RegExp(`\\.${chain}\\.${profile}$`))
      }
      for (const id of IDS) {
        for (const path of [`/rpc${scope}/provider/${id}/${chain}`, `/rpc${scope}/${chain}/${id}`]) {
          assert.equal((await routed(path)).result, `${id}.${chain}.${profile}`, path)
        }
      }
    }
  })
}

test('a chain is found by alias and by decimal id, with a slash at the end and with % sequences', async (t) => {
  const { routed } = openHandler(t)
  for (const [name, chain] of [['mainnet', 'ethereum'], ['1', 'ethereum'], ['8453', 'base'], ['ether%65um', 'ethereum'], ['base/', 'base']]) {
    assert.equal((await routed(`/rpc/${name}`)).chain, chain, name)
  }
  assert.equal((await routed('/rpc/provider/infura/1/')).result, 'infura.ethereum.default')
  assert.equal((await routed('/rpc/ethereum/inf%75ra')).result, 'infura.ethereum.default')
})

test('an encoded slash does not divide, and an invalid % sequence is a 400', async (t) => {
  const { ask, hosts } = openHandler(t)
  for (const [path, message] of [['/rpc/ethereum%2Finfura', /ethereum\/infura/], ['/rpc/%ZZ', /%/], ['/rpc/ethereum/%E0%A4', /%/]]) {
    const { status, body } = await ask(path)
    assert.deepEqual([status, body.error.code, body.id], [400, -32602, null], path)
    assert.match(body.error.message, message)
  }
  assert.deepEqual(hosts, [])
})

const RESERVED = [...Object.keys(STRATEGIES), 'provider', 'profile']

test('a reserved word never means a chain', async (t) => {
  const { ask } = openHandler(t)
  for (const word of RESERVED) {
    const { body } = await ask(`/rpc/${word}/etherium`)
    assert.doesNotMatch(body.error.message, new RegExp(`chain:? "${word}"`), word)
  }
})

test('a chain with a reserved name or alias is refused when the handler is made', () => {
  const providers = ['https://a.test']
  for (const word of RESERVED) {
    for (const chains of [{ [word]: { providers } }, { ethereum: { aliases: [word], providers } }]) {
      const rpc = createRpcClient({ chains })
      assert.throws(() => createRpcHandler(rpc), { name: 'WaypostError', reason: 'invalid_option', message: new RegExp(`"${word}"`) })
      rpc.dispose()
    }
  }
})

test('options are checked when the handler is made', () => {
  const rpc = createRpcClient({ providers: ['https://a.test'] })
  const wrong = [
    { maxBatches: 1 }, { maxBatch: 0 }, { maxBatch: 1.5 }, { maxBatch: 1001 }, { maxBodyBytes: '1' }, { maxBodyBytes: 2 ** 31 + 1 },
    { maxSubrequests: 0 }, { maxSubrequests: 10_001 }, { idleTimeoutMs: 0 }, { idleTimeoutMs: 86_400_001 },
    { bearerToken: '' }, { bearerToken: [''] }, { bearerToken: 7 }, { clientLimit: {} }, { clientLimit: { rps: 0 } },
    { clientLimit: { rps: 1, burst: 0 } }, { clientLimit: { rps: 1, bursts: 1 } },
  ]
  for (const options of wrong) assert.throws(() => createRpcHandler(rpc, options), { reason: 'invalid_option' }, JSON.stringify(options))
  assert.throws(() => createRpcHandler({ fetch }), { reason: 'invalid_option' })
  rpc.dispose()
})

test('the strategy: path before query before header before default', async (t) => {
  const { routed } = openHandler(t)
  const header = { 'X-Lasso-Strategy': 'priority' }
  assert.equal((await routed('/rpc/fastest/ethereum?strategy=latency_weighted', header)).strategy, 'fastest')
  assert.equal((await routed('/rpc/ethereum?strategy=latency-weighted', header)).strategy, 'latency_weighted')
  assert.equal((await routed('/rpc/ethereum', header)).strategy, 'priority')
  assert.equal((await routed('/rpc/ethereum')).strategy, 'load_balanced')
})

test('the provider: path before query, by any of its names, before header, and before any strategy', async (t) => {
  const { routed } = openHandler(t)
  const header = { 'X-Lasso-Provider': 'publicnode' }
  for (const name of ['provider', 'provider_override', 'provider_id']) {
    for (const path of ['/rpc/ethereum/alchemy', '/rpc/provider/alchemy/ethereum']) {
      assert.equal((await routed(`${path}?${name}=infura`, header)).result, 'alchemy.ethereum.default')
    }
    assert.equal((await routed(`/rpc/ethereum?${name}=infura`, header)).result, 'infura.ethereum.default', name)
    assert.equal((await routed(`/rpc/priority/ethereum?${name}=infura`)).result, 'infura.ethereum.default', name)
  }
  assert.equal((await routed('/rpc/priority/ethereum', header)).result, 'publicnode.ethereum.default')
  assert.equal((await routed('/rpc/priority/ethereum')).result, 'alchemy.ethereum.default')
})

test('a provider that is asked for by name is the only one that is asked', async (t) => {
  const { ask, hosts } = openHandler(t, {}, { infura: () => new Response('', { status: 503 }) })
  for (const [path, headers] of [
    ['/rpc/ethereum/infura', {}], ['/rpc/provider/infura/ethereum', {}], ['/rpc/ethereum?provider=infura', {}],
    ['/rpc/ethereum', { 'x-lasso-provider': 'infura' }],
  ]) {
    const { status, body } = await ask(path, { headers: { ...JSON_TYPE, ...headers } })
    assert.equal(status, 200)
    assert.equal(typeof body.error.code, 'number')
  }
  assert.deepEqual([...new Set(hosts)], ['infura.ethereum.default'])
})

test('without include_meta, and with a value that is none, there is no metadata', async (t) => {
  const { ask } = openHandler(t)
  for (const [path, header] of [['/rpc/base', ''], ['/rpc/base?include_meta=all', ''], ['/rpc/base?include_meta=', ''], ['/rpc/base', 'yes']]) {
    const { headers, body } = await ask(path, { headers: { ...JSON_TYPE, ...(header && { 'X-Lasso-Include-Meta': header }) } })
    assert.deepEqual([...headers.keys()].filter((name) => name.startsWith('x-lasso')), [], path)
    assert.deepEqual(Object.keys(body), ['jsonrpc', 'id', 'result'])
  }
})

test('include_meta by query or header; the query wins', async (t) => {
  const { ask } = openHandler(t)
  for (const [path, header, where] of [
    ['?include_meta=headers', '', 'headers'], ['?include_meta=body', '', 'body'], ['', 'headers', 'headers'], ['', 'body', 'body'],
    ['?include_meta=headers', 'body', 'headers'], ['?include_meta=body', 'headers', 'body'],
  ]) {
    const { headers, body } = await ask(`/rpc/base${path}`, { headers: { ...JSON_TYPE, ...(header && { 'X-Lasso-Include-Meta': header }) } })
    assert.deepEqual([headers.has('x-lasso-meta'), headers.has('x-lasso-request-id'), 'lasso_meta' in body],
      where === 'headers' ? [true, true, false] : [false, false, true], `${path} ${header}`)
  }
})

test('the request id has 32 hexadecimal digits and is new each time; the metadata is base64url without padding', async (t) => {
  const { ask } = openHandler(t)
  const seen = new Set()
  for (const provider of IDS) {
    for (const path of [`/rpc/base/${provider}`, `/rpc/profile/testnet/fastest/ethereum?provider=${provider}`]) {
      const { headers } = await ask(path, { headers: { ...JSON_TYPE, 'x-lasso-include-meta': 'headers' } })
      const id = headers.get('x-lasso-request-id')
      assert.match(id, /^[0-9a-f]{32}$/)
      seen.add(id)
      assert.match(headers.get('x-lasso-meta'), /^[\w-]+$/)
      const meta = metaOf(headers)
      assert.deepEqual([meta.request_id, meta.selected_provider], [id, { id: provider, protocol: 'http' }])
    }
  }
  assert.equal(seen.size, 6)
})

test('the metadata tells what happened, failures too', async (t) => {
  const { ask } = openHandler(t, {}, { alchemy: () => new Response('', { status: 503 }) })
  const { body } = await ask('/rpc/priority/mainnet?include_meta=body')
  const { lasso_meta: meta } = body
  assert.deepEqual(
    [meta.version, meta.strategy, meta.chain, meta.transport, meta.retries, meta.circuit_breaker_state, meta.selected_provider.id],
    ['1.0', 'priority', 'ethereum', 'http', 1, 'closed', 'infura'])
  assert.deepEqual([...meta.candidate_providers].sort(), IDS.map((id) => `${id}:http`))
  assert.deepEqual(meta.attempts.map(({ provider, outcome }) => [provider, outcome]), [['alchemy', 'error'], ['infura', 'success']])
  const { upstream_latency_ms: upstream, end_to_end_latency_ms: total, lasso_overhead_ms: overhead } = meta
  assert.ok([upstream, total, overhead].every((ms) => Number.isInteger(ms) && ms >= 0), JSON.stringify(meta))
  const failed = await ask('/rpc/ethereum/alchemy?include_meta=body')
  assert.equal(failed.body.error.code < 0 && failed.body.lasso_meta.selected_provider.id, 'alchemy')
  const inHeaders = await ask('/rpc/ethereum/alchemy?include_meta=headers')
  assert.equal(metaOf(inHeaders.headers).selected_provider.id, 'alchemy')
})

test('metadata of more than 4096 bytes is dropped from the headers only, and any id fits', async (t) => {
  for (const [count, isSent] of [[2, true], [60, false]]) {
    const providers = Array.from({ length: count }, (_, at) => ({ id: `prøvider-é-${'x'.repeat(60)}-${at}`, url: `https://p${at}.test` }))
    const fetch = async (_, { body }) => Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' })
    const rpc = createRpcClient({ providers, fetch })
    t.after(() => rpc.dispose())
    const ask = (where) => createRpcHandler(rpc).fetch(new Request(`https://edge.test/rpc/default?include_meta=${where}`, { method: 'POST', body: CALL }))
    const { headers, status } = await ask('headers')
    assert.deepEqual([status, headers.has('x-lasso-meta')], [200, isSent])
    assert.match(headers.get('x-lasso-request-id'), /^[0-9a-f]{32}$/)
    if (isSent) assert.match(metaOf(headers).selected_provider.id, /^prøvider-é-/)
    const { lasso_meta: meta } = await (await ask('body')).json()
    assert.equal(meta.candidate_providers.length, count)
  }
})

test('a page of any origin may call and read the headers, from errors as well', async (t) => {
  const { ask } = openHandler(t, { maxBodyBytes: 1000 })
  const preflight = await ask('/rpc/ethereum', { method: 'OPTIONS', headers: { origin: 'https://page.test', 'access-control-request-method': 'POST' } })
  assert.deepEqual([preflight.status, preflight.text], [204, ''])
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.match(preflight.headers.get('access-control-allow-methods'), /POST/)
  for (const name of ['content-type', 'authorization', 'x-lasso-provider', 'x-lasso-strategy', 'x-lasso-transport', 'x-lasso-include-meta']) {
    assert.ok(preflight.headers.get('access-control-allow-headers').toLowerCase().split(/, */).includes(name), name)
  }
  assert.equal(preflight.headers.get('access-control-max-age'), '86400')
  const asked = [['/rpc/base'], ['/rpc/nowhere'], ['/'], ['/rpc/base', { method: 'GET' }], ['/rpc/base', { body: 'x'.repeat(1001) }],
    ['/rpc/base', { headers: { 'content-type': 'text/xml' } }], ['/rpc/base', { body: '{' }], ['/api/chains', { method: 'GET' }]]
  for (const [path, init = {}] of asked) {
    const { headers } = await ask(path, { ...init, headers: { ...JSON_TYPE, ...init.headers, origin: 'https://page.test' } })
    assert.equal(headers.get('access-control-allow-origin'), '*', path)
    const exposed = headers.get('access-control-expose-headers').toLowerCase()
    for (const name of ['x-lasso-request-id', 'x-lasso-meta', 'retry-after']) assert.ok(exposed.includes(name), name)
  }
})

test('a list of origins lets only these in, and caches keep the answers apart', async (t) => {
  const { ask } = openHandler(t, { cors: ['https://a.test', 'https://b.test'] })
  for (const method of ['POST', 'OPTIONS']) {
    for (const [origin, allowed] of [['https://a.test', 'https://a.test'], ['https://b.test', 'https://b.test'], ['https://c.test', null],
      ['https://a.test.evil.test', null], ['null', null], [undefined, null]]) {
      const { headers } = await ask('/rpc/base', { method, headers: { ...JSON_TYPE, ...(origin && { origin }) } })
      assert.equal(headers.get('access-control-allow-origin'), allowed, `${method} ${origin}`)
      assert.equal(headers.has('access-control-allow-methods'), allowed !== null && method === 'OPTIONS')
      assert.match(headers.get('vary'), /origin/i)
    }
  }
  const closed = await openHandler(t, { cors: false }).ask('/rpc/base', { headers: { ...JSON_TYPE, origin: 'https://a.test' } })
  assert.equal([...closed.headers.keys()].some((name) => name.startsWith('access-control')), false)
})

test('other methods are a 405 that names the right ones, other paths a 404', async (t) => {
  const { ask, hosts } = openHandler(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
    const { status, headers } = await ask('/rpc/ethereum', { method })
    assert.equal(status, 405, method)
    assert.match(headers.get('allow'), /\bPOST\b/)
  }
  for (const path of ['/api/health', '/api/chains', '/api/metrics/base']) {
    const { status, headers } = await ask(path)
    assert.equal(status, 405, path)
    assert.match(headers.get('allow'), /\bGET\b/)
    const head = await ask(path, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text, head.headers.get('content-type')], [200, '', 'application/json'])
  }
  for (const path of ['/', '/rpcs/ethereum', '/RPC/ethereum', '/rpc/ethereum/infura/more', '/rpc/provider/infura/ethereum/more',
    '/rpc/profile/testnet/fastest/base/more', '/api', '/api/none', '/api/health/more', '/api/metrics/base/more', '/ws/ethereum']) {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await ask(path, { method })
      assert.deepEqual([status, body.id, typeof body.error.message], [404, null, 'string'], path)
    }
  }
  assert.deepEqual(hosts, [])
})

test('what does not exist is named, with what there is and what may have been meant', async (t) => {
  const { ask, hosts } = openHandler(t)
  for (const [path, status, message, kind, list] of [
    ['/rpc/etherum', 400, /^Unsupported chain: "etherum"/, 'ethereum', ['ethereum', 'base']],
    ['/rpc', 400, /chain/, undefined, ['ethereum', 'base']],
    ['/rpc/ethereum/alchmy', 400, /provider "alchmy"/, 'alchemy', IDS],
    ['/rpc/provider/alchmy/ethereum', 400, /provider "alchmy"/, 'alchemy', IDS],
    ['/rpc/ethereum?provider_id=alchmy', 400, /provider "alchmy"/, 'alchemy', IDS],
    ['/rpc/ethereum?strategy=fastes', 400, /strategy "fastes"/, 'fastest', ['fastest', 'load_balanced', 'latency_weighted', 'priority']],
    ['/rpc/profile/tesnet/base', 404, /profile "tesnet"/i, 'testnet', ['default', 'testnet']],
  ]) {
    const { status: seen, body } = await ask(path)
    assert.deepEqual([seen, body.error.code, body.id], [status, -32602, null], path)
    assert.match(body.error.message, message)
    if (kind !== undefined) assert.match(body.error.message, new RegExp(`mean "${kind}"`))
    for (const word of list) assert.ok(body.error.message.includes(word), `${path}: ${body.error.message}`)
    assert.equal(typeof body.error.data?.error_type, status === 404 ? 'string' : 'undefined')
  }
  assert.deepEqual(hosts, [])
})

test('/api tells of health, chains and metrics; an unknown chain is a 404 that lists the chains', async (t) => {
  const { ask } = openHandler(t)
  const get = async (path) => (await ask(path, { method: 'GET' })).body
  const health = await get('/api/health')
  assert.deepEqual([health.status, Number.isInteger(health.uptime_seconds), typeof health.version, health.cluster.enabled],
    ['healthy', true, 'string', false])
  const { chains } = await get('/api/chains')
  assert.deepEqual(chains.map(({ chain_id: id, name, chain_name: long, supported }) => [id, name, typeof long, supported]),
    [[1, 'ethereum', 'string', true], [8453, 'base', 'string', true]])
  await ask('/rpc/ethereum/infura')
  await ask('/rpc/profile/testnet/ethereum/alchemy')
  const calls = ({ providers }) => providers.map(({ id, total_calls: total }) => [id, total])
  for (const name of ['ethereum', 'mainnet', '1']) {
    assert.deepEqual(calls(await get(`/api/metrics/${name}`)), [['alchemy', 0], ['infura', 1], ['publicnode', 0]], name)
  }
  assert.deepEqual(calls(await get('/api/metrics/ethereum?profile=testnet')), [['alchemy', 1], ['infura', 0], ['publicnode', 0]])
  for (const path of ['nowhere', '%ZZ', '__proto__', 'constructor']) {
    const { status, body } = await ask(`/api/metrics/${path}`, { method: 'GET' })
    assert.equal(status, 404, path)
    assert.deepEqual([typeof body.error, body.chain, body.available_chains], ['string', path, ['ethereum', 'base']])
  }
  assert.equal((await ask('/api/chains?profile=none', { method: 'GET' })).status, 404)
})

test('what curl sends is taken: no type, its form type, with a charset; other types and encodings are a 415', async (t) => {
  const { ask } = openHandler(t)
  const types = ['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/x-www-form-urlencoded', 'text/plain']
  for (const type of types) assert.equal((await ask('/rpc/base', { headers: { 'content-type': type } })).status, 200, type)
  assert.equal((await ask('/rpc/base', { headers: {}, body: new TextEncoder().encode(CALL) })).status, 200)
  for (const headers of [{ 'content-type': 'application/xml' }, { 'content-type': 'multipart/form-data; boundary=x' }, { 'content-type': 'image/json' },
    { ...JSON_TYPE, 'content-encoding': 'gzip' }, { ...JSON_TYPE, 'content-encoding': 'br' }]) {
    const { status, body } = await ask('/rpc/base', { headers })
    assert.deepEqual([status, body.id], [415, null], JSON.stringify(headers))
  }
})
