import assert from 'node:assert/strict'
import test from 'node:test'
import { openClient } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const METHODS = ['eth_chainId', 'eth_blockNumber', 'eth_getBalance', 'eth_gasPrice', 'eth_call']
const RESULTS = ['0x7a69', '0x10', '0x64', '0x1', '0x']
const batchOf = (...methods) => methods.map((method, index) => ({ jsonrpc: '2.0', id: index + 10, method, params: [] }))
const expected = (count) => RESULTS.slice(0, count).map((result, index) => ({ jsonrpc: '2.0', id: index + 10, result }))
const hitsOf = (proxies, method) => proxies.reduce((sum, { counters }) => sum + counters.of(method), 0)

const REFUSALS = {
  'with 405': ['batchRefused', { status: 405 }],
  'with one error object': ['batchErrorObject'],
  'of more than two calls': ['batchLimit', { max: 2 }],
}

for (const [how, [fault, options]] of Object.entries(REFUSALS)) {
  test(`a provider that refuses batches ${how} still answers every call, and the refusal is remembered`, async (t) => {
    const [proxy] = await startMocks(t, 1)
    proxy.fault(fault, options)
    const rpc = openClient(t, [proxy])
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual((await rpc.send(batchOf(...METHODS))).response, expected(5))
    }
    const refused = proxy.counters.batches.filter((size) => size > (options?.max ?? 1))
    assert.ok(refused.length <= 2, `${refused.length} refused batches`)
  })
}

test('answers that come reversed and incomplete are told apart by id, and only the missing one is asked again', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('batchMissingReversed', { missing: [2] })
  const { response } = await openClient(t, proxies).send(batchOf(...METHODS.slice(0, 3)))
  assert.deepEqual(response, expected(3))
  assert.deepEqual(METHODS.slice(0, 2).map((method) => hitsOf(proxies, method)), [1, 1])
})

test('one failed call does not fail its batch, and its own error stays its own', async (t) => {
  const proxies = await startMocks(t, 2)
  proxies[0].fault('rpcError', { method: 'eth_blockNumber', code: 3, message: 'execution reverted', data: '0x1234' })
  const { response } = await openClient(t, proxies).send(batchOf(...METHODS.slice(0, 3)))
  const [first, failed, last] = response
  assert.deepEqual([first, last], [expected(1)[0], expected(3)[2]])
  assert.deepEqual(failed, { jsonrpc: '2.0', id: 11, error: { code: 3, message: 'execution reverted', data: '0x1234' } })
  assert.deepEqual(METHODS.slice(0, 3).map((method) => hitsOf(proxies, method)), [1, 1, 1])
})

test('a batch with an unsafe call whose answer is lost repeats the reads and never the unsafe call', async (t) => {
  const proxies = await startMocks(t, 2, { eth_sendTransaction: '0x1' })
  proxies[0].fault('resetAfterForward', { method: 'eth_sendTransaction' })
  const { response } = await openClient(t, proxies).send(batchOf('eth_chainId', 'eth_sendTransaction', 'eth_blockNumber'))
  assert.deepEqual(response.map(({ result }) => result), ['0x7a69', undefined, '0x10'])
  assert.equal(typeof response[1].error.code, 'number')
  assert.equal(hitsOf(proxies, 'eth_sendTransaction'), 1)
})

for (const [what, fault] of Object.entries({ 'plain text': ['status', { status: 200, body: 'OK' }], HTML: ['html'], 'nothing': ['empty'] })) {
  test(`a batch that is answered with ${what} is answered by the next provider`, async (t) => {
    const proxies = await startMocks(t, 2)
    proxies[0].fault(...fault)
    assert.deepEqual((await openClient(t, proxies).send(batchOf(...METHODS))).response, expected(5))
  })
}

test('calls of a batch may share an id, and ids keep their type', async (t) => {
  const proxies = await startMocks(t, 1)
  const ids = [1, '1', 1, null, 'x', 0]
  const batch = ids.map((id, index) => ({ jsonrpc: '2.0', id, method: METHODS[index % METHODS.length], params: [] }))
  const { response } = await openClient(t, proxies).send(batch)
  assert.deepEqual(response.map(({ id, result }) => [id, result]), ids.map((id, index) => [id, RESULTS[index % RESULTS.length]]))
})

test('a batch with an item that is no request answers the others', async (t) => {
  const proxies = await startMocks(t, 1)
  const [good] = batchOf('eth_chainId')
  const { response } = await openClient(t, proxies).send([good, { jsonrpc: '2.0', id: 5 }])
  assert.deepEqual(response[0], expected(1)[0])
  assert.deepEqual([response[1].id, response[1].error.code], [5, -32600])
})
