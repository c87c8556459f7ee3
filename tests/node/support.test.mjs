import assert from 'node:assert/strict'
import test from 'node:test'
import { FAULTS } from '../support/faults.mjs'
import { startMocks, startPool, startShared } from '../support/providers.mjs'

const call = (method = 'eth_blockNumber', id = 1) => ({ jsonrpc: '2.0', id, method, params: [] })

const post = (url, body, signal) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal })

const ask = async (proxy, body = call()) => (await post(proxy.url, body)).json()

test('a proxy passes calls and batches through and counts them', async (t) => {
  const [proxy] = await startMocks(t, 1)
  assert.deepEqual(await ask(proxy), { jsonrpc: '2.0', id: 1, result: '0x10' })
  assert.equal((await ask(proxy, [call('eth_chainId', 1), call('eth_blockNumber', 2)])).length, 2)
  assert.deepEqual(proxy.counters.hits, { eth_blockNumber: 2, eth_chainId: 1 })
  assert.deepEqual([proxy.counters.bodies, proxy.counters.batches], [2, [2]])
})

test('a proxy refuses connections and accepts them again on the same port', async (t) => {
  const [proxy] = await startMocks(t, 1)
  await proxy.refuse()
  await assert.rejects(ask(proxy), ({ cause }) => cause.code === 'ECONNREFUSED')
  await proxy.accept()
  assert.equal((await ask(proxy)).result, '0x10')
})

test('connection faults break the exchange where they say', async (t) => {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('reset', { times: 1 })
  await assert.rejects(ask(proxy), ({ cause }) => cause.code === 'ECONNRESET')
  assert.equal((await ask(proxy)).result, '0x10')
  for (const name of ['hang', 'hangBody']) {
    proxy.heal().fault(name)
    const controller = new AbortController()
    const { aborted: before, bodies: sent } = proxy.counters
    const answer = post(proxy.url, call(), controller.signal).then((response) => response.text())
    await proxy.counters.until(({ bodies }) => bodies > sent)
    setImmediate(() => controller.abort())
    await assert.rejects(answer, { name: 'AbortError' })
    await proxy.counters.until(({ aborted }) => aborted === before + 1)
  }
})

test('answer faults give the answers they name', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const answerTo = async (name, options, body = call()) => {
    proxy.heal().fault(name, options)
    const response = await post(proxy.url, body)
    return [response.status, await response.text(), response.headers]
  }
  assert.equal((await answerTo('rateLimited', { retryAfter: 30 }))[2].get('retry-after'), '30')
  assert.equal((await answerTo('status', { status: 503 }))[0], 503)
  assert.match((await answerTo('html'))[1], /^<!doctype html>/)
  assert.equal((await answerTo('empty'))[1], '')
  const truncated = (await answerTo('truncated'))[1]
  assert.throws(() => JSON.parse(truncated), SyntaxError)
  assert.equal(JSON.parse((await answerTo('wrongId'))[1]).id, '1-not-asked-for')
  assert.match((await answerTo('rawResult', { resultText: '9007199254740993' }))[1], /9007199254740993/)
  assert.deepEqual(JSON.parse((await answerTo('rpcError', { code: 3, message: 'no', data: '0x' }))[1]).error, {
    code: 3, message: 'no', data: '0x',
  })
})

test('batch faults touch batches only, member faults their method only', async (t) => {
  const [proxy] = await startMocks(t, 1)
  const batch = ['eth_chainId', 'eth_blockNumber', 'eth_gasPrice'].map(call)
  const ids = (answers) => answers.map(({ id }) => id)
  proxy.fault('batchMissingReversed', { missing: [2] })
  assert.deepEqual(ids(await ask(proxy, batch)), [1, 0])
  assert.equal((await ask(proxy)).result, '0x10')
  proxy.heal().fault('batchLimit', { max: 2 })
  assert.match((await ask(proxy, batch)).error.message, /limit of 2/)
  proxy.heal().fault('rpcError', { method: 'eth_chainId', code: -32601, message: 'no' })
  const [failed, ...rest] = await ask(proxy, batch)
  assert.equal(failed.error.code, -32601)
  assert.deepEqual(rest.map(({ result }) => result), ['0x10', '0x1'])
})

test('an unknown fault is refused with the names there are', async (t) => {
  const [proxy] = await startMocks(t, 1)
  assert.throws(() => proxy.fault('rest'), new RegExp(Object.keys(FAULTS)[0]))
})

test('nodes die and come back as processes, and a proxy before a dead one drops its clients', async (t) => {
  const { nodes: [node], proxies: [proxy] } = await startPool(t, 1)
  assert.equal((await ask(proxy, call('eth_chainId'))).result, '0x7a69')
  const { pid } = node
  await node.stop()
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  await assert.rejects(ask(proxy), TypeError)
  await node.start()
  assert.equal((await ask(proxy)).result, '0x0')
})

test('proxies over one node see the same chain', async (t) => {
  const { proxies } = await startShared(t, 2)
  await ask(proxies[0], call('evm_mine'))
  assert.equal((await ask(proxies[1])).result, '0x1')
})
