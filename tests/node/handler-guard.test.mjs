import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { createRpcClient, createRpcHandler } from 'waypost'

const IDS = ['alchemy', 'infura']
const CALL = '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[],"id":1}'
const KEYS = { user: 'userK3y-1111', password: 'passK3y-2222', path: 'pathK3y-3333', query: 'queryK3y-4444', header: 'headerK3y-5555' }
const HOST = 'secret-host.test'

const good = ({ id }) => Response.json({ jsonrpc: '2.0', id, result: '0x1' })

/** A handler over two providers with keys everywhere; `answer(call, url, init)` is what they say. */
function openHandler(t, options, answer = good, clientOptions = {}) {
  const sent = []
  const providers = IDS.map((id, priority) => ({
    id, priority, headers: { 'X-Api-Key': KEYS.header },
    url: `https://${KEYS.user}:${KEYS.password}@${id}.${HOST}/v3/${KEYS.path}?apikey=${KEYS.query}`,
  }))
  const rpc = createRpcClient({
    chains: { ethereum: { chainId: 1, providers } }, strategy: 'priority', seed: 1,
    fetch: async (url, init) => {
      sent.push({ url: `${url}`, headers: init.headers, body: init.body })
      return answer(JSON.parse(init.body), `${url}`, init)
    },
    ...clientOptions,
  })
  t.after(() => rpc.dispose())
  const { fetch } = createRpcHandler(rpc, options)
  const ask = async (path = '/rpc/ethereum', { headers = {}, method = 'POST', body = method === 'POST' ? CALL : undefined, ...init } = {}) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const request = new Request(new URL(path, 'https://edge.test'), { method, headers: { ...type, ...headers }, body, ...init })
    const response = await fetch(request)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
  }
  const get = (path, headers) => ask(path, { method: 'GET', headers })
  return { ask, get, sent, rpc, fetch }
}

test('with a token only who knows it may call, or read anything', async (t) => {
  for (const bearerToken of ['t0ken-one', ['t0ken-one'], ['other', 't0ken-one']]) {
    const { ask, get, sent } = openHandler(t, { bearerToken })
    for (const authorization of ['Bearer t0ken-one', 'bearer t0ken-one', 'BEARER  t0ken-one']) {
      assert.equal((await ask(undefined, { headers: { authorization } })).status, 200, authorization)
    }
    sent.length = 0
    const wrong = [undefined, '', 'Bearer', 'Bearer ', 'Bearer t0ken-on', 'Bearer t0ken-onee', 'Bearer t0ken-one t0ken-one', 'Bearer T0ken-one',
      'Basic t0ken-one', 't0ken-one', 'Bearer othe', 'Bearer t0ken-one,other']
    for (const authorization of wrong) {
      const headers = authorization === undefined ? {} : { authorization }
      for (const answer of [await ask(undefined, { headers }), await get('/api/chains', headers), await get('/api/metrics/ethereum', headers)]) {
        assert.deepEqual([answer.status, answer.body.id, typeof answer.body.error.code], [401, null, 'number'], authorization)
        assert.match(answer.headers.get('www-authenticate'), /^Bearer/)
        assert.equal(answer.headers.get('access-control-allow-origin'), '*')
        assert.doesNotMatch(answer.text, /t0ken|ethereum/)
      }
    }
    assert.deepEqual(sent, [])
  }
})

test('each of several tokens opens, and a preflight needs none', async (t) => {
  const { ask } = openHandler(t, { bearerToken: ['one', 'two'] })
  for (const token of ['one', 'two']) assert.equal((await ask(undefined, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  assert.equal((await ask(undefined, { headers: { authorization: 'Bearer one two' } })).status, 401)
  const preflight = await ask('/rpc/ethereum', { method: 'OPTIONS', headers: { origin: 'https://page.test' } })
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers.get('access-control-allow-headers'), /authorization/i)
})

test('a list without a token lets nobody in, rather than everybody', (t) => {
  const rpc = createRpcClient({ providers: ['https://a.test'] })
  t.after(() => rpc.dispose())
  assert.throws(() => createRpcHandler(rpc, { bearerToken: [] }), /bearerToken/)
})

/** Stops the clock of the runtime; `advance` moves it. */
function stopClock(t) {
  let ms = 1_000_000
  t.mock.method(performance, 'now', () => ms)
  return (by) => (ms += by)
}

const from = (ip) => ({ headers: { 'cf-connecting-ip': ip } })

test('each client has its own bucket, which fills again', async (t) => {
  const advance = stopClock(t)
  const { ask, sent } = openHandler(t, { clientLimit: { rps: 2, burst: 3 } })
  const statuses = async (count, init) => {
    const seen = []
    for (let call = 0; call < count; call += 1) seen.push((await ask(undefined, init)).status)
    return seen
  }
  assert.deepEqual(await statuses(5, from('192.0.2.1')), [200, 200, 200, 429, 429])
  assert.deepEqual(await statuses(4, from('192.0.2.2')), [200, 200, 200, 429])
  assert.equal(sent.length, 6)
  advance(499)
  assert.deepEqual(await statuses(1, from('192.0.2.1')), [429])
  advance(1)
  assert.deepEqual(await statuses(2, from('192.0.2.1')), [200, 429])
  advance(60_000)
  assert.deepEqual(await statuses(4, from('192.0.2.1')), [200, 200, 200, 429])
})

test('who is over the limit is told when to come back', async (t) => {
  stopClock(t)
  const { ask } = openHandler(t, { clientLimit: { rps: 0.1, burst: 1 } })
  await ask(undefined, from('192.0.2.1'))
  const { status, headers, body } = await ask(undefined, from('192.0.2.1'))
  assert.deepEqual([status, body.id, body.error.code, headers.get('retry-after')], [429, null, -32005, '10'])
  assert.equal(body.error.data.retry_after_ms, 10_000)
  assert.match(headers.get('access-control-expose-headers'), /retry-after/i)
})

test('without a burst it is the rate; without an address all clients share; an own key tells them apart', async (t) => {
  stopClock(t)
  const plain = openHandler(t, { clientLimit: { rps: 2 } })
  const statuses = []
  for (let call = 0; call < 3; call += 1) statuses.push((await plain.ask()).status)
  assert.deepEqual(statuses, [200, 200, 429])
  const key = (request) => request.headers.get('x-user')
  const keyed = openHandler(t, { clientLimit: { rps: 1, key } })
  for (const [user, status] of [['ann', 200], ['bob', 200], ['ann', 429], ['cid', 200], ['bob', 429]]) {
    assert.equal((await keyed.ask(undefined, { headers: { 'x-user': user, 'cf-connecting-ip': '192.0.2.1' } })).status, status, user)
  }
})

test('a fractional rate with a clock that stands still does not let anybody in for ever', async (t) => {
  stopClock(t)
  const { ask } = openHandler(t, { clientLimit: { rps: 0.5 } })
  assert.equal((await ask()).status, 200)
  for (let call = 0; call < 20; call += 1) assert.equal((await ask()).status, 429)
})

test('of fifty thousand clients only so many are remembered, and the latest are', async (t) => {
  stopClock(t)
  const names = []
  const { get } = openHandler(t, { clientLimit: { rps: 1, burst: 1, key: () => names.at(-1) } })
  const call = async (name) => {
    names.push(name)
    return (await get('/api/health')).status
  }
  assert.deepEqual([await call('first'), await call('first')], [200, 429])
  for (let client = 0; client < 50_000; client += 1) assert.equal(await call(`client ${client}`), 200)
  assert.equal(await call('first'), 200)
  for (let client = 49_000; client < 50_000; client += 1) assert.equal(await call(`client ${client}`), 429)
})

test('who goes on calling over the limit is not forgotten for others who come', async (t) => {
  stopClock(t)
  const names = []
  const { get } = openHandler(t, { clientLimit: { rps: 1, burst: 1, key: () => names.at(-1) } })
  const call = async (name) => {
    names.push(name)
    return (await get('/api/health')).status
  }
  assert.equal(await call('eager'), 200)
  for (let client = 0; client < 20_000; client += 1) {
    await call(`client ${client}`)
    if (client % 5_000 === 0) assert.equal(await call('eager'), 429, `after ${client}`)
  }
})

test('a body over the limit is a 413, by its length and while it streams, and is not read on', async (t) => {
  const { ask, sent } = openHandler(t, { maxBodyBytes: CALL.length })
  assert.equal((await ask()).status, 200)
  sent.length = 0
  const long = await ask(undefined, { body: `${CALL} ` })
  assert.deepEqual([long.status, long.body.id, long.body.error.code], [413, null, -32600])
  assert.match(long.body.error.message, new RegExp(`\\b${CALL.length}\\b`))
  let pulls = 0
  let isCancelled = false
  const endless = new ReadableStream({
    pull(sink) {
      pulls += 1
      sink.enqueue(new Uint8Array(16).fill(32))
    },
    cancel() {
      isCancelled = true
    },
  }, { highWaterMark: 0 })
  assert.equal((await ask(undefined, { body: endless, duplex: 'half' })).status, 413)
  assert.ok(pulls <= CALL.length / 16 + 3, `${pulls} pieces were read`)
  assert.equal(isCancelled, true)
  const declared = await ask(undefined, { headers: { 'content-length': `${CALL.length + 1}` } })
  assert.equal(declared.status, 413)
  const bytes = await ask(undefined, { body: '"' + 'é'.repeat(CALL.length / 2) + '"' })
  assert.equal(bytes.status, 413)
  assert.deepEqual(sent, [])
})

test('who calls again and again is remembered, however many others come', async (t) => {
  stopClock(t)
  let name
  const { get } = openHandler(t, { clientLimit: { rps: 1, burst: 12, key: () => name } })
  const statuses = []
  for (let round = 0; round < 15; round += 1) {
    name = 'busy'
    statuses.push((await get('/api/health')).status)
    for (let client = 0; client < 1000; client += 1) {
      name = `${round} ${client}`
      await get('/api/health')
    }
  }
  assert.deepEqual(statuses, [...Array(12).fill(200), 429, 429, 429])
})

/** Runs in a process of its own, with as much memory as a Worker has. */
const CROWDED = `
  import { createRpcClient, createRpcHandler } from 'waypost'
  const fetch = async (_, { body }) => Response.json({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' })
  const rpc = createRpcClient({ chains: { ethereum: { providers: [{ id: 'a', url: 'https://a.test' }] } }, fetch })
  const handler = createRpcHandler(rpc)
  const post = async (body) => (await handler.fetch(new Request('https://edge.test/rpc/ethereum', { method: 'POST', body }))).text()
  const bodies = {
    members: () => '[' + '0,'.repeat(4_000_000) + '0]',
    methods: (at) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: at + 'x'.repeat(4_000_000) }),
  }
  const [kind, count] = process.argv.slice(1)
  for (let at = 0; at < Number(count); at += 1) await post(bodies[kind](at))
  console.log((await post('{"jsonrpc":"2.0","id":1,"method":"eth_call"}')))
`

for (const [what, kind, count] of [['many members', 'members', 1], ['long names of methods', 'methods', 40]]) {
  test(`bodies within the limit need no more memory than a Worker has: ${what}`, () => {
    const flags = ['--max-old-space-size=100', '--input-type=module', '--eval', CROWDED, kind, String(count)]
    const { stdout, status, signal } = spawnSync(process.execPath, flags, { encoding: 'utf8', cwd: import.meta.dirname })
    assert.deepEqual([stdout.trim(), status, signal], ['{"jsonrpc":"2.0","id":1,"result":"0x1"}', 0, null])
  })
}

test('a body in pieces that divide a character is read as it was written', async (t) => {
  const text = '{"jsonrpc":"2.0","method":"eth_call","params":["é😀"],"id":"é😀"}'
  const bytes = new TextEncoder().encode(text)
  const { ask, sent } = openHandler(t)
  const body = new ReadableStream({
    start(sink) {
      for (const byte of bytes) sink.enqueue(Uint8Array.of(byte))
      sink.close()
    },
  })
  assert.equal((await ask(undefined, { body, duplex: 'half' })).text, '{"jsonrpc":"2.0","id":"é😀","result":"0x1"}')
  assert.ok(sent[0].body.includes('["é😀"]'))
})

test('headers of the caller do not reach the providers', async (t) => {
  const { ask, sent } = openHandler(t, { bearerToken: 't0ken' })
  const headers = {
    authorization: 'Bearer t0ken', cookie: 'session=1', 'x-api-key': 'mine', 'x-forwarded-for': '192.0.2.9', 'cf-connecting-ip': '192.0.2.9',
    forwarded: 'for=192.0.2.9', origin: 'https://page.test', referer: 'https://page.test/', 'user-agent': 'spy', te: 'trailers',
    'proxy-authorization': 'Basic x', 'x-lasso-provider': 'infura', 'x-lasso-include-meta': 'body', accept: 'text/html', 'x-other': '1',
  }
  assert.equal((await ask(undefined, { headers })).status, 200)
  const basic = `Basic ${btoa(`${KEYS.user}:${KEYS.password}`)}`
  assert.deepEqual(Object.entries(sent[0].headers).map(([name, value]) => [name.toLowerCase(), value]).sort(),
    [['authorization', basic], ['content-type', 'application/json'], ['x-api-key', KEYS.header]])
})

const EVIL = 'evil.test'

test('nothing in path, query, headers or body names another host', async (t) => {
  const { fetch, sent } = openHandler(t)
  const urls = [
    `/rpc/https:%2F%2F${EVIL}`, `/rpc/ethereum/${EVIL}`, `/rpc/ethereum/https:%2F%2F${EVIL}%2F`, `/rpc/provider/https:%2F%2F${EVIL}/ethereum`,
    `/rpc/ethereum?provider=https://${EVIL}`, `/rpc/ethereum?provider_override=${EVIL}`, `/rpc/ethereum?provider_id=//${EVIL}`,
    `/rpc/ethereum?url=https://${EVIL}&host=${EVIL}&endpoint=https://${EVIL}`, `/rpc/ethereum?strategy=https://${EVIL}`,
    `/rpc/profile/https:%2F%2F${EVIL}/ethereum`, `/rpc/ethereum/..%2F..%2F${EVIL}`, `//${EVIL}/rpc/ethereum`, `/rpc//ethereum`,
    `/https://${EVIL}/rpc/ethereum`, `/rpc/ethereum@${EVIL}`, `/rpc/ethereum%0d%0aHost:%20${EVIL}`, `/rpc/ethereum#@${EVIL}`, '/rpc/ethereum',
  ]
  const member = JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [], url: `https://${EVIL}`, host: EVIL, provider: `https://${EVIL}`,
    provider_id: EVIL, provider_override: EVIL, headers: { host: EVIL }, chain: EVIL, profile: EVIL, strategy: EVIL, options: { provider: EVIL },
  })
  const headers = {
    'x-lasso-provider': '', 'x-forwarded-host': EVIL, 'x-original-url': `https://${EVIL}`, 'x-rewrite-url': `https://${EVIL}`, host: EVIL,
    forwarded: `host=${EVIL}`,
  }
  for (const url of urls) {
    for (const provider of [undefined, `https://${EVIL}`, EVIL]) {
      const given = { ...headers, ...(provider && { 'x-lasso-provider': provider }) }
      if (provider === undefined) delete given['x-lasso-provider']
      const request = new Request(`https://edge.test${url}`, { method: 'POST', headers: given, body: member })
      const { status } = await fetch(request)
      assert.ok([200, 400, 404].includes(status), `${status} for ${url}`)
    }
  }
  assert.ok(sent.length > 0)
  for (const { url, headers: own } of sent) {
    assert.match(url, new RegExp(`^https://(${IDS.join('|')})\\.${HOST.replace('.', '\\.')}/v3/`))
    assert.doesNotMatch(JSON.stringify(own), /evil/)
  }
})

test('names that every object has are no chain, provider, strategy or profile', async (t) => {
  const { ask, sent } = openHandler(t)
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '0', '-1', '1.0', '01', ' ethereum', 'ETHEREUM']) {
    const word = encodeURIComponent(name)
    for (const path of [`/rpc/${word}`, `/rpc/ethereum/${word}`, `/rpc/ethereum?provider=${word}`, `/rpc/ethereum?strategy=${word}`]) {
      assert.equal((await ask(path)).status, 400, path)
    }
    assert.equal((await ask(`/rpc/profile/${word}/ethereum`)).status, 404, name)
  }
  assert.deepEqual(sent, [])
})

test('members of the body do not act as options and are not passed on', async (t) => {
  const { ask, sent } = openHandler(t)
  const extra = '"provider_id":"infura","provider_override":"infura","provider":"infura","lasso_meta":"notify","include_meta":"body","request_id":"forged"'
  for (const [body, wrap] of [[`{"jsonrpc":"2.0",${extra},"id":1,"method":"eth_call"}`, (text) => text], [`[{${extra},"id":1,"method":"eth_call"}]`, (text) => `[${text}]`]]) {
    sent.length = 0
    const { text, headers } = await ask(undefined, { body })
    assert.equal(text, wrap('{"jsonrpc":"2.0","id":1,"result":"0x1"}'))
    assert.deepEqual([...headers.keys()].filter((name) => name.startsWith('x-lasso')), [])
    assert.match(sent[0].url, /^https:\/\/alchemy\./)
    assert.deepEqual(Object.keys(JSON.parse(sent[0].body)).sort(), ['id', 'jsonrpc', 'method', 'params'])
  }
})

test('the metadata is ours: neither the caller nor a provider can forge it', async (t) => {
  const forged = '"lasso_meta":{"request_id":"forged"},"id":1'
  const { ask } = openHandler(t, {}, ({ id }) => new Response(`{"lasso_meta":{"request_id":"forged"},"id":${id},"result":"0x1"}`,
    { headers: { 'x-lasso-request-id': 'forged', 'x-lasso-meta': 'forged', 'set-cookie': 'a=b', 'access-control-allow-origin': 'https://evil.test' } }))
  const body = `{${forged},"method":"eth_call","id":"\\",\\"lasso_meta\\":{}"}`
  const headers = { 'x-lasso-request-id': 'forged', 'x-request-id': 'forged', 'x-lasso-meta': 'forged' }
  for (const where of ['headers', 'body']) {
    const answer = await ask(`/rpc/ethereum?include_meta=${where}`, { body, headers })
    assert.doesNotMatch(answer.text + JSON.stringify([...answer.headers]), /forged|evil|a=b/)
    assert.equal(answer.body.id, '","lasso_meta":{}')
    assert.match(answer.body.lasso_meta?.request_id ?? answer.headers.get('x-lasso-request-id'), /^[0-9a-f]{32}$/)
  }
  assert.equal((await ask('/rpc/ethereum', { body })).text, '{"jsonrpc":"2.0","id":"\\",\\"lasso_meta\\":{}","result":"0x1"}')
})

const rpcError = (error) => ({ id }) => Response.json({ jsonrpc: '2.0', id, error })
const everything = (url, { headers }) => `${url} ${JSON.stringify(headers)} ${Object.values(KEYS).join(' ')}`

/** All ways to fail that repeat what must not be seen. */
const LEAKS = {
  'a fetch that throws': (_, url, init) => { throw new TypeError(`fetch failed: ${everything(url, init)}`) },
  'a refused key': (_, url, init) => new Response(everything(url, init), { status: 401 }),
  'a missing page': (_, url, init) => new Response(everything(url, init), { status: 404 }),
  'a limit': (_, url, init) => new Response(everything(url, init), { status: 429, headers: { 'retry-after': '1', location: url } }),
  'a redirect': (_, url, init) => new Response(everything(url, init), { status: 302, headers: { location: url } }),
  'a broken server': (_, url, init) => new Response(everything(url, init), { status: 500, headers: { 'x-served-by': url } }),
  'a page': (_, url, init) => new Response(`<html>${everything(url, init)}</html>`),
  'a body that breaks off': (_, url, init) => new Response(new ReadableStream({ start: (sink) => sink.error(new Error(everything(url, init))) })),
  'an error of the caller': (call, url, init) => rpcError({ code: -32602, message: `bad params for ${everything(url, init)}` })(call),
  'an error that names the path': (call, url) => rpcError({ code: -32602, message: `invalid argument 0 at ${new URL(url).pathname}` })(call),
  'an error with data': (call, url) => rpcError({ code: -32602, message: 'bad params', data: { see: url, keys: Object.values(KEYS) } })(call),
  'an error of the server': (call, url, init) => rpcError({ code: -32603, message: everything(url, init), data: everything(url, init) })(call),
  'an exceeded quota': (call, url, init) => rpcError({ code: -32005, message: `quota of ${everything(url, init)}`, data: { see: url } })(call),
  'an answer to something else': (_, url) => Response.json({ id: url, result: url }),
}

for (const [what, leak] of Object.entries(LEAKS)) {
  test(`no answer holds a URL, a host, a key or a header of a provider after ${what}`, async (t) => {
    const { ask, get } = openHandler(t, { maxSubrequests: 1000 }, leak, { deadlineMs: 300 })
    const secret = new RegExp([HOST.replace('.', '\\.'), ...Object.values(KEYS), btoa(`${KEYS.user}:${KEYS.password}`)].join('|'))
    const answers = []
    for (const path of ['/rpc/ethereum', '/rpc/ethereum?include_meta=body', '/rpc/ethereum?include_meta=headers', '/rpc/ethereum/infura']) {
      for (const body of [CALL, `[${CALL},${CALL.replace('eth_blockNumber', 'eth_sendRawTransaction')}]`]) answers.push(await ask(path, { body }))
    }
    for (const path of ['/api/health', '/api/chains', '/api/metrics/ethereum', '/api/metrics/none']) answers.push(await get(path))
    for (const path of ['/rpc/none', '/rpc/ethereum/none', '/rpc/ethereum?strategy=none', '/rpc/profile/none/x', '/none']) answers.push(await ask(path))
    for (const { text, headers } of answers) {
      const meta = Buffer.from(headers.get('x-lasso-meta') ?? '', 'base64url').toString()
      assert.doesNotMatch(`${text} ${JSON.stringify([...headers])} ${meta}`, secret)
    }
  })
}

test('a client that cannot be made is a 500 that does not tell why', async () => {
  const { fetch } = createRpcHandler(() => { throw new Error(`no binding ${KEYS.header}`) })
  const response = await fetch(new Request('https://edge.test/rpc/ethereum', { method: 'POST', body: CALL }))
  assert.equal(response.status, 500)
  const body = await response.json()
  assert.deepEqual([body.id, body.error.code], [null, -32603])
  assert.doesNotMatch(JSON.stringify(body), /K3y/)
})
