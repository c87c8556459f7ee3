import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import test from 'node:test'
import { text } from 'node:stream/consumers'
import { createRpcClient } from 'waypost'
import { openClient, providerStatus, rejection } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const WHO = { method: 'web3_clientVersion', params: [] }

/** An answer to whatever id the request has. */
async function echo(url, { body }, result) {
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }))
}

/** Runs a script that ends, or not, by itself. */
async function run(script, ...args) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, ...args], {
    cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'pipe'], timeout: 15_000,
  })
  const exit = new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
  return { output: output.trim(), errors, code }
}

for (const where of ['global', 'injected']) {
  test(`the ${where} fetch is called without a foreign this`, async (t) => {
    const seen = []
    const strict = function (url, init) {
      seen.push(this)
      return echo(url, init, 'ok')
    }
    const options = where === 'injected' ? { fetch: strict } : {}
    const rpc = createRpcClient({ providers: ['http://127.0.0.1:1'], ...options })
    t.after(() => rpc.dispose())
    if (where === 'global') t.mock.method(globalThis, 'fetch', strict)
    assert.equal(await rpc.request(WHO), 'ok')
    assert.ok(seen.length === 1 && (seen[0] === undefined || seen[0] === globalThis), String(seen[0]))
  })
}

test('the global fetch is looked up at every call, so that it can be replaced later', async (t) => {
  const rpc = createRpcClient({ providers: ['http://127.0.0.1:1'] })
  t.after(() => rpc.dispose())
  for (const name of ['first', 'second']) {
    const { mock } = t.mock.method(globalThis, 'fetch', (url, init) => echo(url, init, name))
    assert.equal(await rpc.request(WHO), name)
    mock.restore()
  }
})

test('the only header that a call brings by itself is its content type', async (t) => {
  const headers = []
  const rpc = createRpcClient({
    providers: ['http://127.0.0.1:1'],
    fetch: (url, init) => {
      headers.push([...new Headers(init.headers)])
      return echo(url, init, 'ok')
    },
  })
  t.after(() => rpc.dispose())
  await rpc.request(WHO)
  assert.deepEqual(headers, [[['content-type', 'application/json']]])
})

const USE = `
  import { createRpcClient } from 'waypost'
  const rpc = createRpcClient({ providers: process.argv.slice(1), strategy: 'priority', attemptTimeoutMs: 100 })
  console.log(await rpc.request({ method: 'web3_clientVersion' }))
`
const TIMERS = `console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)`

test('a process ends by itself after use, with no timer left, also without dispose', async (t) => {
  const proxies = await startMocks(t, 3)
  proxies[0].fault('hang')
  proxies[1].fault('status', { status: 500 })
  const { output, errors, code } = await run(USE + TIMERS, ...proxies.map(({ url }) => url))
  assert.deepEqual([output.split('\n'), code], [['mock/c', '0'], 0], errors)
})

test('a process does not end while a call waits, be it for an answer or for a rate limit', async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('rateLimited', { retryAfter: 1, times: 1 })
  const { output, errors, code } = await run(USE, proxy.url)
  assert.deepEqual([output, code], ['mock/a', 0], errors)
})

test('dispose ends open calls with an error, and later calls say why they fail', async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('hang')
  const rpc = openClient(t, [proxy])
  const open = rpc.request(WHO)
  await proxy.counters.until(({ bodies }) => bodies === 1)
  rpc.dispose()
  await assert.rejects(open, Error)
  await proxy.counters.until(({ aborted }) => aborted === 1)
  await assert.rejects(rpc.request(WHO), { reason: 'unavailable', message: /dispose/ })
  rpc.dispose()
})

test('dispose in the same turn as a call ends that call', { timeout: 20_000 }, async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('hang')
  const rpc = openClient(t, [proxy], { deadlineMs: 60_000 })
  const open = rpc.request(WHO)
  rpc.dispose()
  const { name, reason } = await rejection(open)
  assert.ok(name === 'AbortError' || reason === 'unavailable', `${name} ${reason}`)
})

test('a hundred calls at once, with listeners that call back, all get their own answer', async (t) => {
  const proxies = await startMocks(t, 3)
  proxies[0].fault('status', { status: 500 })
  const rpc = openClient(t, proxies, { strategy: 'load_balanced' })
  const inner = []
  const once = () => {
    rpc.removeListener('attempt', once)
    inner.push(rpc.request({ method: 'eth_chainId' }))
  }
  rpc.on('attempt', once)
  for (const name of ['attempt', 'request', 'circuit']) {
    rpc.on(name, () => {
      rpc.status()
      rpc.explain({ method: 'eth_blockNumber' })
      rpc.exportState()
    })
  }
  const methods = ['eth_chainId', 'eth_blockNumber', 'eth_getBalance', 'eth_gasPrice']
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => rpc.request({ method: methods[index % methods.length], params: [] })),
  )
  assert.deepEqual(answers.slice(0, 4), ['0x7a69', '0x10', '0x64', '0x1'])
  answers.forEach((value, index) => assert.equal(value, answers[index % 4]))
  assert.deepEqual(await Promise.all(inner), ['0x7a69'])
})

test('EIP-1193 event names are accepted and never fire, and a listener that throws breaks no call', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const rpc = openClient(t, [proxy])
  const reported = []
  t.mock.method(console, 'error', (error) => reported.push(error.message))
  const never = () => assert.fail('fired')
  for (const name of ['connect', 'disconnect', 'chainChanged', 'accountsChanged', 'message']) rpc.on(name, never)
  rpc.on('request', () => { throw new Error('listener') })
  assert.equal(await rpc.request(WHO), 'mock/a')
  assert.deepEqual(reported, ['listener'])
  for (const name of ['connect', 'disconnect']) rpc.removeListener(name, never)
})

test('state carries over to another client: what was open or limited there is so here', async (t) => {
  const proxies = await startMocks(t, 3)
  proxies[0].fault('status', { status: 500 })
  proxies[1].fault('rateLimited', { retryAfter: 60 })
  const first = openClient(t, proxies)
  for (let call = 0; call < 6; call += 1) await first.request(WHO)
  const state = JSON.parse(JSON.stringify(first.exportState()))
  const second = openClient(t, proxies)
  second.importState(state)
  assert.equal(providerStatus(second, 'a').circuit, 'open')
  assert.ok(providerStatus(second, 'b').limitedForMs > 0)
  const before = proxies.map(({ counters }) => counters.total)
  assert.equal(await second.request(WHO), 'mock/c')
  assert.deepEqual(proxies.map(({ counters }) => counters.total), [before[0], before[1], before[2] + 1])
})
