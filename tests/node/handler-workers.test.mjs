import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, request as httpRequest } from 'node:http'
import test from 'node:test'
import { Miniflare } from 'miniflare'
import { startMocks } from '../support/providers.mjs'

const dist = (name) => readFile(new URL(`../../pkg/dist/${name}`, import.meta.url))
const [CODE, WASM] = await Promise.all([dist('workerd.js'), dist('waypost.wasm')])
const KB = 1024

/** All that the tests ask of a Worker: what it may not do at the top level, it would fail to start with. */
const WORKER = `
  import * as lib from './waypost.mjs'

  // The timers that are running, as the test sees them.
  let made = 0
  const { setTimeout: start, clearTimeout: stop } = globalThis
  const open = new Set()
  globalThis.setTimeout = (work, ms, ...rest) => {
    const timer = start((...args) => { open.delete(timer); work(...args) }, ms, ...rest)
    open.add(timer)
    return timer
  }
  globalThis.clearTimeout = (timer) => { open.delete(timer); stop(timer) }

  const optionsOf = ({ PROVIDERS, OPTIONS = {} }) => ({ chains: { ethereum: { chainId: 1, providers: PROVIDERS } }, strategy: 'priority', ...OPTIONS })
  // One that is made at the top level: nobody may answer it, and it may not need a binding.
  const early = lib.createRpcHandler(lib.createRpcClient({ chains: { ethereum: { providers: ['http://127.0.0.1:9'] } } }), { clientLimit: { rps: 1000 } })
  let client
  const make = (env) => {
    made += 1
    client = lib.createRpcClient({ ...optionsOf(env), ...(env.FROZEN && { now: () => 1000 }), strategies: lib.strategiesFromEnv(env) })
    return client
  }
  let late

  export default {
    async fetch(request, env, ctx) {
      const handler = (late ??= lib.createRpcHandler(make, env.HANDLER ?? {}))
      const url = new URL(request.url)
      if (url.pathname === '/early') return early.fetch(new Request(new URL('/api/chains', url)), env, ctx)
      if (url.pathname === '/env') return Response.json(lib.strategiesFromEnv(env))
      if (url.pathname === '/seen') {
        return Response.json({ made, timers: open.size, open: client?.status().openRequests ?? 0,
          inFlight: client?.status().profiles.default.ethereum.providers.map(({ inFlight }) => inFlight) ?? [] })
      }
      return handler.fetch(request, env, ctx)
    },
  }
`

/** A Worker over these providers. `post` sends it calls, `get` asks it about itself. */
async function startWorker(t, providers, bindings = {}, flags = []) {
  const worker = new Miniflare({
    compatibilityDate: '2025-01-01',
    compatibilityFlags: flags,
    modulesRoot: '/',
    // It prints a page for each stream that ends with an error, as some shall.
    handleRuntimeStdio: (...streams) => streams.forEach((stream) => stream.resume()),
    modules: [
      { type: 'ESModule', path: '/worker.mjs', contents: WORKER },
      { type: 'ESModule', path: '/waypost.mjs', contents: CODE.toString() },
      { type: 'CompiledWasm', path: '/waypost.wasm', contents: WASM },
    ],
    bindings: { PROVIDERS: providers.map(({ url }, priority) => ({ id: 'abc'[priority], url, priority })), ...bindings },
  })
  t.after(() => worker.dispose())
  const origin = await worker.ready
  const fetchFrom = (path, init) => fetch(new URL(path, origin), init)
  const get = async (path) => (await fetchFrom(path)).json()
  // Compressed, a long answer of numbers is a short one, which fits into any buffer.
  const post = (call, path = '/rpc/ethereum', { headers, ...init } = {}) =>
    fetchFrom(path, { method: 'POST', body: JSON.stringify(call), headers: { 'accept-encoding': 'identity', ...headers }, ...init })
  /** A call from a client that goes away when it is told to. */
  const leave = (call) => {
    const request = httpRequest(new URL('/rpc/ethereum', origin), { method: 'POST' }).on('error', () => {})
    request.end(JSON.stringify(call))
    return request
  }
  return { origin, get, post, leave }
}

const CALL = { jsonrpc: '2.0', id: 7, method: 'eth_chainId', params: [] }
const ANSWER = { jsonrpc: '2.0', id: 7, result: '0x7a69' }

/** A provider with a body of any length: `write(id, response)` sends it; `closed` counts the connections that were. */
async function startRaw(t, write) {
  const state = { closed: 0, written: 0 }
  const server = createServer(async (incoming, response) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const { id } = JSON.parse(Buffer.concat(chunks))
    response.on('close', () => {
      if (response.writableFinished) return
      state.closed += 1
      server.emit('gone')
    })
    response.writeHead(200, { 'content-type': 'application/json' })
    await write(id, response, state)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const gone = async () => { while (state.closed === 0) await once(server, 'gone') }
  return { url: `http://127.0.0.1:${server.address().port}`, state, gone }
}

const PIECE = `,${'1234567890123456789,'.repeat(3276)}0`

/** Resolves when there is place for more, or nobody left to write to. */
const taken = (response) => new Promise((resolve) => {
  const done = () => {
    response.off('drain', done).off('close', done)
    resolve()
  }
  response.on('drain', done).on('close', done)
})

/** Writes a result of so many pieces of 64 KB, no faster than it is taken. */
async function writeLong(id, response, state, pieces) {
  response.write(`{"jsonrpc":"2.0","id":${id},"result":[0`)
  for (let piece = 0; piece < pieces && !response.destroyed; piece += 1) {
    state.written += PIECE.length
    if (!response.write(PIECE)) await taken(response)
  }
}

const finish = async (id, response, state, pieces) => {
  await writeLong(id, response, state, pieces)
  response.end(']}')
}

/**
 * Reads what nobody may take for a whole answer. The runtime on its own, without Cloudflare's servers before it, closes
 * every body like a complete one, so what remains to tell them apart is that the JSON has no end.
 */
async function assertBroken(response) {
  assert.equal(response.status, 200)
  const text = await response.text().catch(() => '')
  assert.throws(() => JSON.parse(text), SyntaxError)
}

/** Waits until the Worker says so. The runtime tells nobody when it has cleaned up, so it is asked. */
async function settles(get, isSo) {
  for (let tries = 0; tries < 200; tries += 1) {
    // After a broken answer the runtime may close the connection at the moment at which it is used again.
    const seen = await get('/seen').catch(() => undefined)
    if (seen !== undefined && isSo(seen)) return seen
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  assert.fail(JSON.stringify(await get('/seen')))
}

test('client and handler are made at the top level of a Worker', async (t) => {
  const { get } = await startWorker(t, await startMocks(t, 1))
  const { chains } = await get('/early')
  assert.deepEqual(chains.map(({ name }) => name), ['ethereum'])
})

test('a client of the bindings is made once, and every curl form works over HTTP', async (t) => {
  const { post, get } = await startWorker(t, await startMocks(t, 2))
  for (const path of ['/rpc/ethereum', '/rpc/fastest/1', '/rpc/ethereum/b', '/rpc/provider/a/ethereum', '/rpc/profile/default/latency-weighted/ethereum']) {
    for (const headers of [{ 'content-type': 'application/json' }, { 'content-type': 'application/x-www-form-urlencoded' }]) {
      const response = await post(CALL, path, { headers })
      assert.equal(response.status, 200)
      assert.deepEqual(await response.json(), ANSWER)
    }
  }
  const meta = await post(CALL, '/rpc/ethereum?include_meta=headers')
  assert.match(meta.headers.get('x-lasso-request-id'), /^[0-9a-f]{32}$/)
  assert.equal(JSON.parse(Buffer.from(meta.headers.get('x-lasso-meta'), 'base64url')).selected_provider.id, 'a')
  assert.equal((await get('/api/health')).status, 'healthy')
  assert.equal((await get('/seen')).made, 1)
})

test('fifty first requests at once are all answered, by one client', async (t) => {
  const mocks = await startMocks(t, 2)
  for (const mock of mocks) mock.fault('slow', { delayMs: 200 })
  const { post, get } = await startWorker(t, mocks)
  const answers = await Promise.all(Array.from({ length: 50 }, async (_, id) => (await post({ ...CALL, id })).json()))
  assert.deepEqual(answers, Array.from({ length: 50 }, (_, id) => ({ ...ANSWER, id })))
  const { made, open } = await get('/seen')
  assert.deepEqual([made, open], [1, 0])
})

for (const flags of [[], ['enable_request_signal']]) {
  test(`a caller who goes away holds nobody up, and his call is stopped: ${flags.join() || 'plain'}`, async (t) => {
    const [mock] = await startMocks(t, 1)
    mock.fault('hang', { times: 3 })
    const { post, leave } = await startWorker(t, [mock], {}, flags)
    const leavers = [1, 2, 3].map((id) => leave({ ...CALL, id }))
    await mock.counters.until(({ total }) => total === 3)
    for (const request of leavers) request.destroy()
    const answers = await Promise.all([7, 7, 7].map(async () => (await post(CALL)).json()))
    assert.deepEqual(answers, [ANSWER, ANSWER, ANSWER])
    await mock.counters.until(({ aborted }) => aborted === 3)
  })
}

test('callers who go away leave no timer, no open request and nothing in flight where the runtime tells of them', async (t) => {
  const [mock] = await startMocks(t, 1)
  mock.fault('hang', { times: 20 })
  const { get, leave } = await startWorker(t, [mock], {}, ['enable_request_signal'])
  const leavers = Array.from({ length: 20 }, () => leave(CALL))
  await mock.counters.until(({ total }) => total === 20)
  for (const request of leavers) request.destroy()
  const { timers, inFlight } = await settles(get, ({ open }) => open === 0)
  assert.deepEqual([timers, inFlight], [0, [0]])
})

test('a request ends with all its timers: an answer, a failover, an error, a batch, a stream', async (t) => {
  const mocks = await startMocks(t, 2)
  const { post, get } = await startWorker(t, mocks)
  const isQuiet = async (what) => assert.deepEqual(await get('/seen').then(({ timers, open }) => [timers, open]), [0, 0], what)
  await (await post(CALL)).json()
  await isQuiet('an answer')
  mocks[0].fault('status', { status: 503, times: 1 })
  assert.deepEqual(await (await post(CALL)).json(), ANSWER)
  await isQuiet('a failover')
  await (await post({ ...CALL, method: 7 })).json()
  await (await post([CALL, CALL, CALL, CALL, CALL])).json()
  await isQuiet('a batch')
  const raw = await startRaw(t, (id, response, state) => finish(id, response, state, 20))
  const streaming = await startWorker(t, [raw])
  await (await streaming.post(CALL)).arrayBuffer()
  assert.deepEqual(await streaming.get('/seen').then(({ timers, open }) => [timers, open]), [0, 0])
})

test('what loses is closed while the winner still answers: a body that stops, a provider that is silent', async (t) => {
  for (const fault of ['hang', 'hangBody']) {
    const [mock] = await startMocks(t, 1)
    mock.fault(fault)
    const raw = await startRaw(t, (id, response, state) => finish(id, response, state, 400))
    const { post } = await startWorker(t, [mock, raw], { OPTIONS: { attemptTimeoutMs: 200 } })
    const { body, status } = await post(CALL)
    assert.equal(status, 200)
    await mock.counters.until(({ aborted }) => aborted === 1)
    await body.cancel()
  }
})

test('an answer of 20 MB streams through the runtime byte for byte', async (t) => {
  const raw = await startRaw(t, (id, response, state) => finish(id, response, state, 400))
  const { post } = await startWorker(t, [raw])
  const hash = createHash('sha256')
  for await (const chunk of (await post(CALL)).body) hash.update(chunk)
  const whole = `{"jsonrpc":"2.0","id":7,"result":[0${PIECE.repeat(400)}]}`
  assert.ok(whole.length > 20 * KB * KB)
  assert.equal(hash.digest('hex'), createHash('sha256').update(whole).digest('hex'))
})

test('a reader who stops pauses the provider, and one who goes away closes the connection', async (t) => {
  const raw = await startRaw(t, (id, response, state) => finish(id, response, state, 8000))
  const { post } = await startWorker(t, [raw])
  const controller = new AbortController()
  const reader = (await post(CALL, undefined, { signal: controller.signal })).body.getReader()
  await reader.read()
  // It writes until all buffers on the way are full: not until 500 MB are.
  for (let before = -1; before !== raw.state.written; ) {
    before = raw.state.written
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  assert.ok(raw.state.written < 64 * KB * KB, `${raw.state.written} bytes were written`)
  controller.abort()
  await raw.gone()
  await reader.cancel().catch(() => {})
})

for (const [what, end] of [
  ['a connection that breaks', (_, response) => response.destroy()],
  ['a wrong id', (_, response) => response.end('],"id":12345}')],
  ['a missing end', (_, response) => response.end(']')],
]) {
  test(`an answer that goes wrong in the middle reaches no caller as a whole: ${what}`, async (t) => {
    const raw = await startRaw(t, async (id, response, state) => {
      response.write('{"jsonrpc":"2.0"')
      response.write(what === 'a wrong id' ? ',"result":[0' : `,"id":${id},"result":[0`)
      for (let piece = 0; piece < 20; piece += 1) {
        if (!response.write(PIECE)) await taken(response)
      }
      end(id, response, state)
    })
    const { post } = await startWorker(t, [raw])
    await assertBroken(await post(CALL))
  })
}

test('a silence in the middle of a long answer ends it after the idle timeout', async (t) => {
  const raw = await startRaw(t, (id, response, state) => writeLong(id, response, state, 20))
  const { post, get } = await startWorker(t, [raw], { HANDLER: { idleTimeoutMs: 100 } })
  await assertBroken(await post(CALL))
  await raw.gone()
  await settles(get, ({ timers, open }) => timers === 0 && open === 0)
})

test('a request causes no more fetches than maxSubrequests, failovers included', async (t) => {
  const mocks = await startMocks(t, 3)
  const { post } = await startWorker(t, mocks, { HANDLER: { maxSubrequests: 4 } })
  const total = () => mocks.reduce((sum, { counters }) => sum + counters.total, 0)
  const members = await (await post(Array.from({ length: 10 }, (_, id) => ({ ...CALL, id })))).json()
  assert.deepEqual(members.map(({ id, result }) => [id, result !== undefined]), members.map((_, id) => [id, id < 4]))
  assert.equal(total(), 4)
  for (const mock of mocks) mock.counters.reset()
  mocks[0].fault('status', { status: 503 })
  mocks[1].fault('status', { status: 503 })
  await (await post([CALL, CALL])).json()
  assert.ok(total() <= 4, `${total()} fetches`)
})

test('with a clock that stands still it answers, fails over, and gives up on who is silent', async (t) => {
  const mocks = await startMocks(t, 3)
  const { post, get } = await startWorker(t, mocks, { FROZEN: true, OPTIONS: { attemptTimeoutMs: 100 } })
  assert.deepEqual(await (await post(CALL)).json(), ANSWER)
  mocks[0].fault('hang', { times: 1 })
  mocks[1].fault('status', { status: 503, times: 1 })
  const { lasso_meta: meta, ...answer } = await (await post(CALL, '/rpc/ethereum?include_meta=body')).json()
  assert.deepEqual(answer, ANSWER)
  assert.deepEqual(meta.attempts.map(({ provider }) => provider), ['a', 'b', 'c'])
  for (const mock of mocks) mock.fault('hang')
  const failed = await (await post(CALL, '/rpc/ethereum/b')).json()
  assert.equal(typeof failed.error.code, 'number')
  const { timers, open } = await get('/seen')
  assert.deepEqual([timers, open], [0, 0])
})

test("Lasso's variables are read from the bindings", async (t) => {
  const bindings = {
    FASTEST_MIN_CALLS: '5', FASTEST_MIN_SUCCESS_RATE: '0.5', LW_BETA: '2.5', LW_MS_FLOOR: 10, LW_EXPLORE_FLOOR: '0.1', LW_MIN_CALLS: '4', LW_MIN_SR: '',
  }
  const { get, post } = await startWorker(t, await startMocks(t, 1), bindings)
  assert.deepEqual(await get('/env'), {
    fastest: { minCalls: 5, minSuccessRate: 0.5 }, latencyWeighted: { beta: 2.5, msFloor: 10, exploreFloor: 0.1, minCalls: 4 },
  })
  assert.deepEqual(await (await post(CALL)).json(), ANSWER)
})
