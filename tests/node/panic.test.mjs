import assert from 'node:assert/strict'
import test, { describe } from 'node:test'
import { aheadClock, providerStatus, rejection } from '../support/client.mjs'
import { loadPanicking } from '../support/panicking.mjs'

const { createRpcClient, createWayfinderClient, StaticGatewaysProvider, WaypostError, bomb, counts } = await loadPanicking()

const RESULT = '0x10'
/** Exports that a call, its answer or its report goes through. */
const EXPORTS = ['method', 'begin', 'next', 'detail', 'succeed', 'requestId', 'explain', 'status', 'strategyOf', 'release', 'noteHead']
/** Frames that take more than half of an instance's stack: the second such panic finds too little. */
const DEEP = 5

function answerTo(init, result = RESULT) {
  const answer = ({ id }) => ({ jsonrpc: '2.0', id, result })
  const body = JSON.parse(init.body)
  return Response.json(Array.isArray(body) ? body.map(answer) : answer(body))
}

function client(t, options = {}) {
  const rpc = createRpcClient({
    providers: [{ id: 'a', url: 'https://a.example' }, { id: 'b', url: 'https://b.example' }],
    strategy: 'priority',
    seed: 1,
    fetch: async (_url, init) => answerTo(init),
    ...options,
  })
  t.after(() => {
    bomb.on = ''
    bomb.frames = 0
    rpc.dispose()
  })
  return rpc
}

/** What a promise becomes, whichever way. */
const settled = (promise) => promise.then((value) => ({ value }), (error) => ({ error }))

describe('a panic', () => {
  for (const name of EXPORTS) {
    test(`in ${name} spoils one call at most, many times over`, async (t) => {
      const rpc = client(t)
      rpc.on('request', () => undefined)
      for (let round = 0; round < 5; round++) {
        bomb.on = name
        bomb.frames = DEEP
        const outcomes = [
          await settled(rpc.request({ method: `eth_getRound${round}` })),
          await settled(rpc.request({ method: 'eth_blockNumber' })),
          await settled(rpc.send({ id: 1, method: 'eth_blockNumber' })),
        ]
        rpc.explain({ method: 'eth_blockNumber' })
        rpc.status()
        assert.equal(bomb.on, '', 'the bomb went off')
        const errors = outcomes.flatMap(({ error }) => error ?? [])
        assert.ok(errors.length <= 1)
        for (const error of errors) assert.match(String(error.cause), /waypost panicked at src\/js\/engine\.rs:\d+: forced/)
        assert.equal(await rpc.request({ method: 'eth_blockNumber' }), RESULT)
        const { response } = await rpc.send([{ id: 7, method: 'eth_chainId' }, { id: 8, method: 'eth_gasPrice' }])
        assert.deepEqual(response.map(({ id, result }) => [id, result]), [[7, RESULT], [8, RESULT]])
      }
    })
  }

  test('before anything was sent goes unnoticed, or says so', async (t) => {
    const rpc = client(t)
    bomb.on = 'begin'
    assert.equal(await rpc.request({ method: 'eth_sendTransaction', params: [{}] }), RESULT)
    bomb.on = 'next'
    const error = await rejection(rpc.request({ method: 'eth_sendTransaction', params: [{}] }))
    assert.ok(error instanceof WaypostError)
    assert.equal(error.reason, 'unavailable')
    assert.match(error.message, /eth_sendTransaction on .*: the routing engine broke and was replaced .*Nothing was sent: try again/)
  })

  test('after something was sent leaves its fate open', async (t) => {
    const rpc = client(t)
    bomb.on = 'succeed'
    const error = await rejection(rpc.request({ method: 'eth_sendTransaction', params: [{}] }))
    assert.equal(error.reason, 'indeterminate')
    assert.match(error.message, /It is not known whether it was executed/)
  })

  test('rejects every request that is under way', async (t) => {
    const waiting = []
    const rpc = client(t, { fetch: (_url, init) => new Promise((resolve) => waiting.push(() => resolve(answerTo(init)))) })
    const calls = Array.from({ length: 3 }, () => settled(rpc.request({ method: 'eth_call', params: [] })))
    bomb.on = 'next'
    calls.push(settled(rpc.request({ method: 'eth_call', params: [] })))
    waiting.forEach((go) => go())
    const reasons = (await Promise.all(calls)).map(({ error }) => error?.reason)
    assert.deepEqual(reasons, ['indeterminate', 'indeterminate', 'indeterminate', 'unavailable'])
  })

  test('loses nothing that was known ten seconds before', async (t) => {
    const clock = aheadClock()
    const rpc = client(t, {
      now: clock.now,
      fetch: async (url, init) => {
        if (String(url).includes('//a.')) return new Response('sick', { status: 503 })
        clock.aheadMs += 40
        return answerTo(init)
      },
    })
    for (let call = 0; call < 8; call++) await rpc.request({ method: 'eth_getBalance', params: [] })
    clock.aheadMs += 10_000
    for (let call = 0; call < 3; call++) await rpc.request({ method: 'eth_gasPrice' })
    const before = rpc.status()
    const { instances } = counts
    bomb.on = 'status'
    rpc.status()
    assert.equal(counts.instances, instances + 1)
    const a = providerStatus(rpc, 'a')
    assert.notEqual(a.circuit, 'closed')
    const latency = (status) => {
      const [chains] = Object.values(status.profiles)
      const [{ providers }] = Object.values(chains)
      return providers.map(({ id, methods }) => [id, methods.map(({ method, calls }) => [method, calls])])
    }
    assert.deepEqual(
      latency(rpc.status()).map(([id, methods]) => [id, methods.filter(([method]) => method === 'eth_getBalance')]),
      latency(before).map(([id, methods]) => [id, methods.filter(([method]) => method === 'eth_getBalance')]),
    )
  })

  test('finds what was learnt also after the clock was set back', async (t) => {
    const clock = aheadClock()
    const rpc = client(t, { now: clock.now })
    for (let call = 0; call < 3; call++) await rpc.request({ method: 'eth_chainId' })
    for (let call = 0; call < 8; call++) await rpc.request({ method: 'eth_getBalance', params: [] })
    clock.aheadMs -= 3_600_000
    for (let call = 0; call < 3; call++) await rpc.request({ method: 'eth_chainId' })
    bomb.on = 'status'
    const { methods } = providerStatus(rpc, 'a')
    assert.equal(bomb.on, '')
    assert.equal(methods.find(({ method }) => method === 'eth_getBalance')?.calls, 8)
  })

  test('in taking over what was learnt does not come back for ever', async (t) => {
    const clock = aheadClock()
    const rpc = client(t, { now: clock.now })
    for (let call = 0; call < 4; call++) await rpc.request({ method: 'eth_chainId' })
    clock.aheadMs += 10_000
    for (let call = 0; call < 3; call++) await rpc.request({ method: 'eth_chainId' })
    const engineFails = rpc.request({ method: 'eth_chainId' })
    bomb.on = 'succeed'
    const armImport = settled(engineFails).then(() => undefined)
    await armImport
    bomb.on = 'importState'
    assert.equal(await rpc.request({ method: 'eth_chainId' }), RESULT)
  })

  test('of one client leaves the others as they are', async (t) => {
    const [rpc, other] = [client(t), client(t)]
    await Promise.all([rpc, other].map((each) => each.request({ method: 'eth_chainId' })))
    bomb.on = 'next'
    await rejection(rpc.request({ method: 'eth_chainId' }))
    assert.equal(await other.request({ method: 'eth_chainId' }), RESULT)
    assert.equal(providerStatus(other, 'a').methods[0].calls, 2)
  })

  test('in the content half spoils one request at most', async (t) => {
    const wayfinder = createWayfinderClient({
      gatewaysProvider: new StaticGatewaysProvider({ gateways: ['https://a.example', 'https://b.example'] }),
      fetch: async (url) => (new URL(url).host.endsWith('a.example') ? new Response('', { status: 503 }) : new Response('data')),
    })
    t.after(() => Object.assign(bomb, { on: '', frames: 0 }))
    for (const name of ['begin', 'offer', 'next', 'succeed', 'fail', 'tiers', 'pick', 'addGateway', 'endBody', 'release']) {
      bomb.on = name
      bomb.frames = DEEP
      await settled(wayfinder.request('ar://ardrive'))
      bomb.on = ''
      const response = await wayfinder.request('ar://ardrive')
      assert.equal(await response.text(), 'data', name)
    }
  })
})

test('after a panic the content half knows whom to avoid', async (t) => {
  const clock = aheadClock()
  let askedSick = 0
  const wayfinder = createWayfinderClient({
    gatewaysProvider: new StaticGatewaysProvider({ gateways: ['https://sick.example', 'https://b.example'] }),
    circuitBreaker: { failureThreshold: 1, recoveryMs: 3_600_000 },
    seed: 1,
    now: clock.now,
    fetch: async (url) => {
      if (!new URL(url).host.endsWith('sick.example')) return new Response('data')
      askedSick++
      return new Response('', { status: 503 })
    },
  })
  t.after(() => Object.assign(bomb, { on: '', frames: 0 }))
  const get = async (count) => {
    for (let call = 0; call < count; call++) await (await wayfinder.request('ar://ardrive')).text()
  }
  await get(20)
  assert.equal(askedSick, 1)
  clock.aheadMs += 10_000
  await get(3)
  bomb.on = 'begin'
  await get(20)
  assert.equal(bomb.on, '')
  assert.equal(askedSick, 1)
})

describe('dispose()', () => {
  test('frees the engine, once', async (t) => {
    const rpc = client(t)
    await rpc.request({ method: 'eth_chainId' })
    const { freed } = counts
    rpc.dispose()
    rpc.dispose()
    rpc[Symbol.dispose]()
    assert.equal(counts.freed, freed + 1)
    assert.equal((await rejection(rpc.request({ method: 'eth_chainId' }))).reason, 'unavailable')
    assert.throws(() => rpc.status(), { reason: 'unavailable' })
  })

  test('waits for what is in flight, which it aborts', async (t) => {
    const rpc = client(t, { fetch: (_url, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) })
    const calls = Array.from({ length: 3 }, () => settled(rpc.request({ method: 'eth_chainId' })))
    const batch = settled(rpc.send([{ id: 1, method: 'eth_chainId' }]))
    await new Promise(setImmediate)
    const { freed } = counts
    rpc.dispose()
    for (const { error } of await Promise.all([...calls, batch])) assert.equal(error.name, 'AbortError')
    assert.equal(counts.freed, freed + 1)
  })

  test('of a client whose engine has panicked is harmless', async (t) => {
    const rpc = client(t)
    bomb.on = 'next'
    const call = settled(rpc.request({ method: 'eth_chainId' }))
    rpc.dispose()
    await call
    rpc.dispose()
  })
})
