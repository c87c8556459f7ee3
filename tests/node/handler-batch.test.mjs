import assert from 'node:assert/strict'
import test from 'node:test'
import { createRpcClient, createRpcHandler } from 'waypost'

const IDS = ['a', 'b', 'c']
const pause = () => new Promise((resolve) => setImmediate(resolve))

/** What a provider sends: the text of a result, an error, or a Response. */
function reply(text, answer) {
  const { id } = JSON.parse(text)
  if (answer instanceof Response) return answer
  const member = typeof answer === 'string' ? `"result":${answer}` : `"error":${JSON.stringify(answer.error)}`
  return new Response(`{"jsonrpc":"2.0","id":${id},${member}}`, { headers: { 'content-type': 'application/json' } })
}

/** A handler over providers a, b and c in this order; `answer(call, provider, signal)` is what they say. */
function openHandler(t, options = {}, answer = () => '"0x1"', clientOptions = {}) {
  const sent = []
  const rpc = createRpcClient({
    chains: { ethereum: { providers: IDS.map((id, priority) => ({ id, priority, url: `https://${id}.test/` })) } },
    strategy: 'priority',
    seed: 1,
    fetch: async (url, { body, signal }) => {
      const [id] = new URL(url).host.split('.')
      sent.push({ id, body, call: JSON.parse(body) })
      return reply(body, await answer(JSON.parse(body), id, signal))
    },
    ...clientOptions,
  })
  t.after(() => rpc.dispose())
  const { fetch } = createRpcHandler(rpc, options)
  const ask = async (body, { path = '/rpc/ethereum', signal } = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(new Request(`https://edge.test${path}`, { method: 'POST', body: text, signal }))
    const answered = await response.text()
    return { status: response.status, headers: response.headers, text: answered, body: answered === '' ? undefined : JSON.parse(answered) }
  }
  return { ask, sent }
}

const call = (id, method = 'eth_call', params = []) => ({ jsonrpc: '2.0', id, method, params })
const many = (count) => Array.from({ length: count }, (_, id) => call(id))
const codes = (members) => members.map(({ id, error }) => [id, error?.code])

test('answers come in the order of the calls, whatever order the providers answer in', async (t) => {
  const held = []
  const { ask } = openHandler(t, {}, ({ method }) => new Promise((resolve) => {
    held.push(() => resolve(`"${method}"`))
    if (held.length === 4) held.reverse().forEach((release) => release())
  }))
  const { status, body, headers } = await ask(['eth_a', 'eth_b', 'eth_c', 'eth_d'].map((method, at) => call(10 - at, method)))
  assert.deepEqual([status, headers.get('content-type')], [200, 'application/json'])
  assert.deepEqual(body.map(({ id, result }) => [id, result]), [[10, 'eth_a'], [9, 'eth_b'], [8, 'eth_c'], [7, 'eth_d']])
})

test('a batch has 50 members at most, or as many as the option says, and one at least', async (t) => {
  for (const [options, limit] of [[{}, 50], [{ maxBatch: 2 }, 2]]) {
    const { ask, sent } = openHandler(t, { ...options, maxSubrequests: 100 })
    const full = await ask(many(limit))
    assert.deepEqual(full.body.map(({ id, result }) => [id, result]), many(limit).map(({ id }) => [id, '0x1']))
    assert.equal(sent.length, limit)
    for (const batch of [many(limit + 1), []]) {
      const { status, body } = await ask(batch)
      assert.deepEqual([status, body.id, body.error.code], [200, null, -32600])
    }
    assert.match((await ask(many(limit + 1))).body.error.message, /^Invalid Request: batch too large/)
    assert.equal(sent.length, limit)
  }
})

const INVALID = [
  ['1', 'null'], ['null', 'null'], ['"x"', 'null'], ['[]', 'null'], ['{}', 'null'], ['{"id":7}', '7'],
  ['{"jsonrpc":"1.0","id":8,"method":"eth_call"}', '8'], ['{"jsonrpc":2,"id":9,"method":"eth_call"}', '9'],
  ['{"jsonrpc":null,"id":9,"method":"eth_call"}', '9'], ['{"jsonrpc":"2.0","id":10,"method":5}', '10'],
  ['{"jsonrpc":"2.0","id":"a\\u0062","method":""}', '"a\\u0062"'], ['{"jsonrpc":"2.0","id":null,"params":[]}', 'null'],
  ['{"jsonrpc":"2.0","id":11,"method":"eth_call","params":"0x1"}', '11'], ['{"jsonrpc":"2.0","id":{},"method":"eth_call"}', 'null'],
  ['{"jsonrpc":"2.0","id":[1],"method":"eth_call"}', 'null'], ['{"jsonrpc":"2.0","id":true,"method":"eth_call"}', 'null'],
]

test('an invalid member gets its own error, with its id if it has one, and the others go on', async (t) => {
  const { ask, sent } = openHandler(t)
  const { status, body, text } = await ask(`[${INVALID.map(([member]) => member).join(' , ')}, ${JSON.stringify(call(99))} ]`)
  assert.equal(status, 200)
  assert.deepEqual(body.map(({ error }) => error?.code), [...INVALID.map(() => -32600), undefined])
  assert.deepEqual([...text.matchAll(/"id":("[^"]*"|\w+)/g)].map(([, id]) => id), [...INVALID.map(([, id]) => id), '99'])
  assert.equal(sent.length, 1)
})

test('an invalid request that is no batch: the same error, status 200', async (t) => {
  const { ask, sent } = openHandler(t)
  for (const [member, id] of INVALID.filter(([text]) => text !== '[]')) {
    const { status, text, body } = await ask(member)
    assert.deepEqual([status, body.error.code], [200, -32600], member)
    assert.ok(text.startsWith(`{"jsonrpc":"2.0","id":${id},`), text)
  }
  assert.equal(sent.length, 0)
})

test('what is no JSON is a 400 with the code of a parse error', async (t) => {
  const { ask, sent } = openHandler(t)
  for (const text of ['', '{', '[1,', 'eth_call', '{"jsonrpc":"2.0","id":1,"method":"eth_call"}}', '\u0000']) {
    const { status, body } = await ask(text)
    assert.deepEqual([status, body.id, body.error.code, body.error.message], [400, null, -32700, 'Parse error: Invalid JSON'], text)
  }
  assert.equal(sent.length, 0)
})

test('an absent version is accepted, and absent params', async (t) => {
  const { ask } = openHandler(t)
  for (const member of ['{"id":1,"method":"eth_call"}', '{"id":1,"method":"eth_call","params":{}}', '{"method":"eth_call","id":1,"params":null}']) {
    assert.deepEqual((await ask(member)).body, { jsonrpc: '2.0', id: 1, result: '0x1' }, member)
  }
})

test('notifications are sent on and answered by nothing: 204', async (t) => {
  const { ask, sent } = openHandler(t)
  const note = { jsonrpc: '2.0', method: 'eth_note', params: [] }
  for (const [body, count] of [[note, 1], [[note], 1], [[note, note, note], 3]]) {
    sent.length = 0
    const { status, text, headers } = await ask(body)
    assert.deepEqual([status, text, headers.get('access-control-allow-origin')], [204, '', '*'])
    assert.deepEqual(sent.map(({ call: { method } }) => method), Array.from({ length: count }, () => 'eth_note'))
  }
  assert.deepEqual(codes((await ask([note, call(1), note, call(2)])).body), [[1, undefined], [2, undefined]])
})

test('a notification that fails is answered by nothing either', async (t) => {
  const { ask } = openHandler(t, {}, () => new Response('', { status: 500 }))
  assert.equal((await ask({ jsonrpc: '2.0', method: 'eth_note' })).status, 204)
})

test('an explicit id null is no notification', async (t) => {
  const { ask } = openHandler(t)
  assert.equal((await ask('{"jsonrpc":"2.0","id":null,"method":"eth_call"}')).text, '{"jsonrpc":"2.0","id":null,"result":"0x1"}')
})

test('members fail, revert, fail over and succeed each by itself', async (t) => {
  const revert = { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }
  const { ask, sent } = openHandler(t, {}, ({ method }, id) => {
    if (method === 'eth_estimateGas') return { error: revert }
    if (method === 'eth_getBalance' && id === 'a') return new Response('', { status: 503 })
    if (method === 'eth_gasPrice') return new Response('', { status: 503 })
    return `"${id}"`
  })
  const { body } = await ask(['eth_call', 'eth_estimateGas', 'eth_getBalance', 'eth_gasPrice', 'eth_call'].map((method, at) => call(at + 1, method)))
  assert.deepEqual(body.map(({ id, result }) => [id, result]), [[1, 'a'], [2, undefined], [3, 'b'], [4, undefined], [5, 'a']])
  assert.deepEqual(body[1].error, revert)
  assert.equal(typeof body[3].error.message, 'string')
  assert.equal(sent.filter(({ call: { method } }) => method === 'eth_estimateGas').length, 1)
})

test('members with the same id are answered each', async (t) => {
  const { ask } = openHandler(t, {}, ({ method }) => `"${method}"`)
  const { body } = await ask([call(1, 'eth_a'), call(1, 'eth_b'), call(1, 'eth_c')])
  assert.deepEqual(body.map(({ id, result }) => [id, result]), [[1, 'eth_a'], [1, 'eth_b'], [1, 'eth_c']])
})

test('four members are under way at once, not more', async (t) => {
  let running = 0
  let most = 0
  const { ask } = openHandler(t, {}, async () => {
    running += 1
    most = Math.max(most, running)
    await pause()
    running -= 1
    return '"0x1"'
  })
  assert.equal((await ask(many(20))).body.length, 20)
  assert.equal(most, 4)
})

test('a batch causes no more fetches than the budget: the rest is refused, the answers stand', async (t) => {
  const { ask, sent } = openHandler(t, { maxSubrequests: 3 })
  const { body } = await ask(many(10))
  assert.equal(sent.length, 3)
  assert.deepEqual(codes(body), many(10).map(({ id }) => [id, id < 3 ? undefined : -32000]))
  assert.match(body[9].error.message, /fetches/)
})

test('failovers count for the budget', async (t) => {
  for (const [max, batch] of [[1, many(1)], [2, many(1)], [2, many(4)], [5, many(8)]]) {
    const { ask, sent } = openHandler(t, { maxSubrequests: max }, () => new Response('', { status: 503 }))
    const { status, body } = await ask(batch)
    assert.ok(sent.length <= max, `${sent.length} fetches, ${max} are allowed, for ${batch.length} calls`)
    assert.equal(status, 200)
    assert.ok(body.every(({ error }) => typeof error.code === 'number'))
  }
})

test('the budget holds while a strategy object chooses', async (t) => {
  const strategy = { selectGateway: async ({ gateways }) => gateways[0] }
  const { ask, sent } = openHandler(t, { maxSubrequests: 2 }, undefined, { strategy })
  await ask(many(8))
  assert.ok(sent.length <= 2, `${sent.length} fetches`)
})

test('the next request has a budget of its own', async (t) => {
  const { ask } = openHandler(t, { maxSubrequests: 2 })
  for (let round = 0; round < 3; round += 1) assert.deepEqual(codes((await ask(many(2))).body), [[0, undefined], [1, undefined]])
})

test('a caller who goes away stops what is under way, and nothing more is sent', async (t) => {
  const controller = new AbortController()
  const signals = []
  let started
  const four = new Promise((resolve) => (started = resolve))
  const { ask, sent } = openHandler(t, {}, (_, id, signal) => new Promise((_, reject) => {
    signals.push(signal)
    signal.addEventListener('abort', () => reject(signal.reason))
    if (signals.length === 4) started()
  }))
  const answered = ask(many(20), { signal: controller.signal }).catch(() => undefined)
  await four
  controller.abort()
  await answered
  assert.equal(sent.length, 4)
  assert.ok(signals.every(({ aborted }) => aborted))
})

test('metadata: the headers are those of the first member, a body has one for each', async (t) => {
  const { ask } = openHandler(t, {}, (_, id) => (id === 'a' ? new Response('', { status: 503 }) : `"${id}"`))
  const inHeaders = await ask([call(1), call(2)], { path: '/rpc/ethereum?include_meta=headers' })
  assert.match(inHeaders.headers.get('x-lasso-request-id'), /^[0-9a-f]{32}$/)
  const { body } = await ask([call(1), { jsonrpc: '2.0', method: 'eth_note' }, 7, call(2)], { path: '/rpc/ethereum?include_meta=body' })
  const metas = [body[0], body[2]].map(({ lasso_meta: meta }) => meta)
  assert.equal(new Set(metas.map(({ request_id: id }) => id)).size, 2)
  assert.ok(metas.every(({ chain, selected_provider: { id } }) => chain === 'ethereum' && id === 'b'))
})

const RAW_IDS = [
  '1', '0', '-1', '1.0', '-0', '1e3', '1E+2', '12345678901234567890123', '0.10000000000000000001', 'null', '""', '"1"',
  '"a\\u0041\\n\\"b\\\\"', '"\\ud800"', '"héé 😀"', '"}]"', '"\\/"',
]

test('ids of every kind come back as they were written, with a result and with an error, alone and in a batch', async (t) => {
  const { ask } = openHandler(t, {}, ({ method }) => (method === 'eth_bad' ? { error: { code: 3, message: 'no' } } : '1'))
  const written = (id, method) => `{"jsonrpc":"2.0", "method":"${method}" ,"id" : ${id}\n}`
  const result = (id) => `{"jsonrpc":"2.0","id":${id},"result":1}`
  const error = (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":3,"message":"no"}}`
  for (const id of RAW_IDS) {
    assert.equal((await ask(written(id, 'eth_call'))).text, result(id))
    assert.equal((await ask(written(id, 'eth_bad'))).text, error(id))
  }
  const batch = RAW_IDS.flatMap((id) => [written(id, 'eth_call'), written(id, 'eth_bad')])
  const { text } = await openHandler(t, { maxSubrequests: 100 }, ({ method }) =>
    (method === 'eth_bad' ? { error: { code: 3, message: 'no' } } : '1')).ask(` [\t${batch.join(' ,\n')} ] `)
  assert.equal(text, `[${RAW_IDS.flatMap((id) => [result(id), error(id)]).join(',')}]`)
})

const RAW_PARAMS = [
  '[12345678901234567890, 1.0, -0, 1e400]', '[ {"b":1,"a":2, "1":3}, "\\u0041\\/" ,null ]', '{"z":[],"a":{"id":5,"params":[1]}}', '[]', '["\\ud800","😀"]',
]

test('params reach the provider byte for byte', async (t) => {
  const { ask, sent } = openHandler(t, { maxSubrequests: 100 })
  for (const params of RAW_PARAMS) {
    const member = `{"id":1, "params" : ${params} ,"method":"eth_call"}`
    for (const body of [member, `[${member},${member}]`]) {
      sent.length = 0
      await ask(body)
      for (const { body: text } of sent) assert.ok(text.includes(`"params":${params}`), `${text} has ${params}`)
      assert.ok(sent.length > 0)
    }
  }
})

const RAW_RESULTS = [
  '12345678901234567890', '{"b":1, "a" : 1.0,"1":2,"\\u0061":"\\ud83d\\ude00"}', '[ 1e400 , -0,\n null ]', '"\\/\\u0041é"', 'null', '"\\ud800"',
  '{"result":1,"error":{"code":1},"id":7}', '{"a":1,"a":2}', '{"lasso_meta":{"request_id":"x"}}',
]

test('results come back byte for byte', async (t) => {
  let result
  const { ask } = openHandler(t, {}, () => result)
  for (result of RAW_RESULTS) {
    assert.equal((await ask(call(1))).text, `{"jsonrpc":"2.0","id":1,"result":${result}}`)
    assert.equal((await ask([call(1)])).text, `[{"jsonrpc":"2.0","id":1,"result":${result}}]`)
    const { text } = await ask(call(1), { path: '/rpc/ethereum?include_meta=body' })
    assert.ok(text.startsWith(`{"jsonrpc":"2.0","id":1,"result":${result},"lasso_meta":{"version":"1.0"`), text)
  }
})

test('errors of providers that are answers come back as they are', async (t) => {
  const errors = [
    { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }, { code: -32602, message: 'invalid argument 0: hex string', data: { a: [1] } },
    { code: -32000, message: 'nonce too low' }, { code: -32000, message: 'execution reverted', data: null },
  ]
  for (const error of errors) {
    const { ask, sent } = openHandler(t, {}, () => ({ error }))
    const { status, body } = await ask(call(1))
    assert.deepEqual([status, body], [200, { jsonrpc: '2.0', id: 1, error }])
    assert.equal(sent.length, 1)
  }
})

test('with all providers at their limit it is -32000 with the time to wait', async (t) => {
  const { ask } = openHandler(t, {}, () => new Response('', { status: 429, headers: { 'retry-after': '100' } }))
  await ask(call(1))
  const { status, body } = await ask(call(2))
  assert.deepEqual([status, body.id, body.error.code], [200, 2, -32000])
  const { retry_after_ms: wait } = body.error.data
  assert.ok(wait > 90_000 && wait <= 100_000, `${wait} ms`)
})

test('with all circuits open it is -32000 with the time to wait', async (t) => {
  const { ask } = openHandler(t, {}, () => new Response('', { status: 503 }), { circuitBreaker: { failureThreshold: 1 } })
  await ask(call(1))
  const { body } = await ask(call(2))
  assert.equal(body.error.code, -32000)
  assert.ok(body.error.data.retry_after_ms > 0, JSON.stringify(body))
})

test('methods that need a connection or a key of the node are refused without asking anybody', async (t) => {
  const { ask, sent } = openHandler(t)
  for (const method of ['eth_subscribe', 'eth_unsubscribe', 'eth_sendTransaction', 'personal_sign', 'eth_sign', 'eth_signTransaction', 'eth_accounts']) {
    const { status, body } = await ask(call(1, method))
    assert.deepEqual([status, body.id, body.error?.code], [200, 1, -32601], method)
  }
  assert.equal(sent.length, 0)
})

test('a backup that is one fetch too many does not cost the answer of the trial beside it', async (t) => {
  let isDown = true
  const slow = () => new Promise((resolve) => setTimeout(resolve, 700, '"from a"'))
  const { ask, sent } = openHandler(
    t,
    { maxSubrequests: 1 },
    (_, id) => (id !== 'a' ? '"from another"' : isDown ? new Response('', { status: 503 }) : slow()),
    { circuitBreaker: { failureThreshold: 1, recoveryMs: 10 } },
  )
  assert.equal((await ask(call(1))).body.error.code, -32000, 'the one fetch was for a, which is down')
  isDown = false
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.equal((await ask(call(2))).body.result, 'from a', 'half a second later a backup was due')
  assert.deepEqual(sent.map(({ id }) => id), ['a', 'a'])
})
