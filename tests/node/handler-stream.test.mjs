import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { inspect } from 'node:util'
import { createRpcClient, createRpcHandler } from 'waypost'

const IDS = ['a', 'b']
const CALL = { jsonrpc: '2.0', id: 'my id', method: 'eth_getLogs', params: [{}] }
const KB = 1024
const encoder = new TextEncoder()
/** What follows a commitment is looked at for as long as it takes: nothing in these tests waits that long. */
const LONG_MS = 60_000

/** A body of these pieces (texts, bytes, or functions that are awaited), each taken when it is asked for. */
function streamed(pieces, signal, state = {}) {
  const iterator = pieces[Symbol.iterator]()
  state.sent = 0
  return new ReadableStream({
    async pull(sink) {
      for (;;) {
        const { done, value } = iterator.next()
        if (done) return sink.close()
        const piece = typeof value === 'function' ? await value() : value
        if (signal.aborted) return sink.error(signal.reason)
        if (piece === undefined) continue
        const bytes = typeof piece === 'string' ? encoder.encode(piece) : piece
        state.sent += bytes.length
        return sink.enqueue(bytes)
      }
    },
    start(sink) {
      signal.addEventListener('abort', () => {
        state.isAborted = true
        try { sink.error(signal.reason) } catch { /* It has ended. */ }
      })
    },
    cancel() {
      state.isAborted = true
    },
  }, { highWaterMark: 0 })
}

/** A handler over providers a and b in this order; `answer(id, call)` gives the pieces of a body or a Response. */
function openHandler(t, answer, options = {}, clientOptions = {}) {
  const asked = []
  const rpc = createRpcClient({
    chains: { ethereum: { providers: IDS.map((id, priority) => ({ id, priority, url: `https://${id}.test/` })) } },
    strategy: 'priority', seed: 1, deadlineMs: LONG_MS, attemptTimeoutMs: LONG_MS,
    fetch: async (url, { body, signal }) => {
      const [id] = new URL(url).host.split('.')
      const call = JSON.parse(body)
      const state = { id, call }
      asked.push(state)
      const answered = await answer(call.id, call, id)
      return answered instanceof Response ? answered : new Response(streamed(answered, signal, state))
    },
    ...clientOptions,
  })
  t.after(() => rpc.dispose())
  const { fetch } = createRpcHandler(rpc, options)
  const post = (body = CALL, path = '/rpc/ethereum', signal = undefined) =>
    fetch(new Request(`https://edge.test${path}`, { method: 'POST', body: JSON.stringify(body), signal }))
  return { post, asked }
}

/** A JSON array of about this many bytes, in pieces of 64 KB: different numbers, so that nothing can be swapped. */
function* numbers(bytes) {
  yield '[0'
  let at = 1
  for (let size = 2; size < bytes; ) {
    let piece = ''
    while (piece.length < 64 * KB) piece += `, ${9_000_000_000_000_000_000n + BigInt(at++)}`
    size += piece.length
    yield piece
  }
  yield ']'
}

const answerOf = (id, result) => [`{"jsonrpc":"2.0","id":${id},"result":`, ...result, '}']
const expected = (result, extra = '') => `{"jsonrpc":"2.0","id":"my id","result":${[...result].join('')}${extra}}`
const large = () => numbers(600 * KB)
const LARGE = [...large()].join('')

/** Reads to the end: the text, and the error that ended it, if one did. */
async function drain(response) {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true })
    return { text }
  } catch (error) {
    return { text, error }
  }
}

test('a result of 20 MB comes through byte for byte', async (t) => {
  const { post } = openHandler(t, (id) => answerOf(id, numbers(20 * KB * KB)))
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of (await post()).body) size += hash.update(chunk) && chunk.length
  const whole = expected(numbers(20 * KB * KB))
  assert.equal(size, whole.length)
  assert.equal(hash.digest('hex'), createHash('sha256').update(whole).digest('hex'))
})

for (const [what, pieces, result] of [
  ['the id after the result', (id) => ['{"jsonrpc":"2.0","result":', ...large(), `,"id":${id}}`], LARGE],
  ['space and other members', (id) => [` \n{ "x" : {"id":9,"result":[1]} , "id" : ${id} ,"result"\t: `, ...large(), ' , "y" : "}" } \n'], LARGE],
  ['an error that is null', (id) => [`{"error":null,"id":${id},"result":`, ...large(), '}'], LARGE],
  ['an id as a string', (id) => [`{"id":"${id}","result":`, ...large(), '}'], LARGE],
  ['a long string', (id) => answerOf(id, ['"', ...Array.from({ length: 600 }, () => `\\"}],é😀${'x'.repeat(KB)}\\\\`), '"']),
    `"${`\\"}],é😀${'x'.repeat(KB)}\\\\`.repeat(600)}"`],
  ['nested members of the envelope', (id) => answerOf(id, ['{"error":{"code":1},"id":0,"result":', ...large(), '}']),
    `{"error":{"code":1},"id":0,"result":${LARGE}}`],
]) {
  test(`a long result is found in its envelope: ${what}`, async (t) => {
    const { post } = openHandler(t, pieces)
    const { text, error } = await drain(await post())
    assert.equal(error, undefined)
    assert.ok(text === expected([result]), `${text.length} characters: ${text.slice(0, 100)} … ${text.slice(-100)}`)
  })
}

test('results around the length from which answers are streamed, cut anywhere', async (t) => {
  for (const length of [262_080, 262_100, 262_140, 262_143, 262_144, 262_145, 262_150, 262_200]) {
    const result = `"${'é'.repeat(1000)}${'x'.repeat(length - 2000)}"`
    for (const cut of [1013, 65_536, 262_144, 1_000_000]) {
      const { post } = openHandler(t, (id) => {
        const bytes = encoder.encode(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
        return Array.from({ length: Math.ceil(bytes.length / cut) }, (_, at) => bytes.subarray(at * cut, (at + 1) * cut))
      })
      const { text } = await drain(await post())
      assert.ok(text === expected([result]), `${length} bytes in pieces of ${cut}`)
    }
  }
})

/** What goes wrong after the commitment: the tail after the result that has begun. */
const BROKEN = {
  'an error after the result': (id) => [`],"id":${id},"error":{"code":-32000,"message":"late"}}`],
  'a wrong id after the result': () => ['],"id":123456}'],
  'an id of another kind': () => ['],"id":null}'],
  'no id at all': () => [']}'],
  'a second result': (id) => [`],"result":[],"id":${id}}`],
  'a second id': (id) => [`],"id":${id},"id":7}`],
  'no end of the result': () => [],
  'no end of the envelope': (id) => [`],"id":${id}`],
  'an end in the middle of the id': () => ['],"i'],
  'something after the end': (id) => [`],"id":${id}}{}`],
  'a connection that breaks': () => [() => Promise.reject(new Error('connection lost'))],
}

for (const [what, tail] of Object.entries(BROKEN)) {
  test(`an answer that goes wrong behind its start ends with an error, never cleanly: ${what}`, async (t) => {
    const { post, asked } = openHandler(t, (id) => ['{"jsonrpc":"2.0","result":[', ...[...large()].slice(0, -1).map((piece) => piece.replace('[', '')), ...tail(id)])
    for (const path of ['/rpc/ethereum', '/rpc/ethereum?include_meta=body']) {
      const response = await post(CALL, path)
      assert.equal(response.status, 200)
      const { text, error } = await drain(response)
      assert.ok(error instanceof Error, `${text.length} characters: … ${text.slice(-60)}`)
      assert.throws(() => JSON.parse(text), SyntaxError)
    }
    const batch = await drain(await post([CALL, CALL]))
    assert.ok(batch.error instanceof Error)
    assert.deepEqual([...new Set(asked.map(({ id }) => id))], ['a'])
  })
}

test('a silence in the middle ends the stream with an error after the idle timeout, and the connection', async (t) => {
  const { post, asked } = openHandler(t, (id) => [`{"id":${id},"result":`, ...[...large()].slice(0, -1), () => new Promise(() => {})], { idleTimeoutMs: 50 })
  const { error } = await drain(await post())
  assert.ok(error instanceof Error)
  assert.equal(asked[0].isAborted, true)
})

test('a reader who takes his time is no silence, and the deadline ends with the start of the answer', async (t) => {
  const { post } = openHandler(t, (id) => answerOf(id, large()), { idleTimeoutMs: 20 }, { deadlineMs: 100, attemptTimeoutMs: 100 })
  const reader = (await post()).body.getReader()
  let text = ''
  for (let reads = 0; ; reads += 1) {
    if (reads === 2) await new Promise((resolve) => setTimeout(resolve, 200))
    const { done, value } = await reader.read()
    if (done) break
    text += Buffer.from(value).toString()
  }
  assert.ok(text === expected(large()))
})

test('a reader who goes away closes the connection to the provider, and the provider is not blamed', async (t) => {
  const { post, asked } = openHandler(t, (id) => answerOf(id, numbers(2 * KB * KB)))
  for (let round = 0; round < 12; round += 1) {
    const reader = (await post()).body.getReader()
    await reader.read()
    await reader.cancel(new Error('enough'))
    assert.deepEqual([asked[round].id, asked[round].isAborted], ['a', true])
  }
})

test('a reader of a batch who goes away closes all connections', async (t) => {
  const { post, asked } = openHandler(t, (id) => answerOf(id, numbers(2 * KB * KB)))
  const reader = (await post([CALL, CALL, CALL])).body.getReader()
  for (let reads = 0; reads < 3; reads += 1) await reader.read()
  await reader.cancel()
  assert.deepEqual(asked.map(({ isAborted }) => isAborted), [true, true, true])
})

test('a long answer that nobody is to see is not left open', async (t) => {
  const { post, asked } = openHandler(t, (id) => answerOf(id, numbers(2 * KB * KB)))
  const { jsonrpc, method } = CALL
  assert.equal((await post({ jsonrpc, method })).status, 204)
  const { text } = await drain(await post([{ jsonrpc, method }, CALL]))
  assert.ok(text === `[${expected(numbers(2 * KB * KB))}]`)
  assert.deepEqual(asked.slice(0, 2).map(({ isAborted }) => isAborted), [true, true])
})

const START = [...large()].slice(0, 3).join('')

/** Answers that are no good before anything of them has been passed on. */
const REPLACED = {
  'a connection that breaks early': (id) => [`{"id":${id},"result":${START}`, () => Promise.reject(new Error('connection lost'))],
  'a long error': (id) => [`{"id":${id},"error":{"code":-32000,"message":"`, 'x'.repeat(400 * KB), '"}}'],
  'a long answer to something else': () => ['{"id":123456,"result":', ...large(), '}'],
  'a long page': () => ['<!doctype html>', 'x'.repeat(400 * KB)],
  'a long page with the status 500': () => new Response('x'.repeat(400 * KB), { status: 500 }),
  'a long result with the status 500': (id) => new Response(`{"id":${id},"result":${LARGE}}`, { status: 500 }),
  'a long answer without a result': (id) => [`{"id":${id},"x":`, ...large(), '}'],
  'a long batch': (id) => [`[{"id":${id},"result":`, ...large(), '}]'],
  'a short answer to something else': () => ['{"id":123456,"result":1}'],
  'a short answer that is cut off': (id) => [`{"id":${id},"result":[1`],
  'a short page': () => ['<!doctype html>'],
  'nothing': () => [],
}

for (const [what, bad] of Object.entries(REPLACED)) {
  test(`another provider answers in place of: ${what}`, async (t) => {
    const { post, asked } = openHandler(t, (id, _, provider) => (provider === 'a' ? bad(id) : answerOf(id, large())))
    const { text, error } = await drain(await post())
    assert.deepEqual([error, asked.map(({ id }) => id)], [undefined, ['a', 'b']])
    assert.ok(text === expected(large()))
  })
}

test('a start that does not come is replaced when its attempt times out, and its connection closed', async (t) => {
  const { post, asked } = openHandler(t, (id, _, provider) =>
    (provider === 'a' ? [`{"id":${id},"result":${START}`, () => new Promise(() => {})] : answerOf(id, large())), {}, { attemptTimeoutMs: 50 })
  const { text } = await drain(await post())
  assert.ok(text === expected(large()))
  assert.deepEqual(asked.map(({ id, isAborted }) => [id, isAborted === true]), [['a', true], ['b', false]])
})

test('metadata follows the result of a long answer', async (t) => {
  const { post } = openHandler(t, (id, _, provider) => (provider === 'a' ? [] : answerOf(id, large())))
  const { text } = await drain(await post(CALL, '/rpc/ethereum?include_meta=body'))
  assert.ok(text.startsWith(expected(large()).slice(0, -1)))
  const { lasso_meta: meta } = JSON.parse(text)
  assert.deepEqual([meta.version, meta.retries, meta.selected_provider], ['1.0', 1, { id: 'b', protocol: 'http' }])
  const inHeaders = await post(CALL, '/rpc/ethereum?include_meta=headers')
  assert.match(inHeaders.headers.get('x-lasso-request-id'), /^[0-9a-f]{32}$/)
  assert.ok((await drain(inHeaders)).text === expected(large()))
})

test('long answers stand in a batch where their calls stood', async (t) => {
  const { post } = openHandler(t, (id, { params: [kind] }) => (kind === 'long' ? answerOf(id, large()) : answerOf(id, ['"short"'])))
  const kinds = ['short', 'long', 'short', 'long', 'long', 'short', 'long']
  const batch = kinds.map((kind, id) => ({ jsonrpc: '2.0', id, method: 'eth_getLogs', params: [kind] }))
  const { text, error } = await drain(await post(batch))
  assert.equal(error, undefined)
  const member = (kind, id) => `{"jsonrpc":"2.0","id":${id},"result":${kind === 'long' ? LARGE : '"short"'}}`
  assert.ok(text === `[${kinds.map(member).join(',')}]`)
})

const PIECE = encoder.encode(',1234567'.repeat(8 * KB))

test('the provider is read no faster than the caller reads: memory stays bounded over 100 MB', async (t) => {
  const { post, asked } = openHandler(t, (id) => answerOf(id, ['[0', ...Array.from({ length: 1600 }, () => PIECE), ']']))
  for (const body of [CALL, [CALL]]) {
    asked.length = 0
    const reader = (await post(body)).body.getReader()
    let read = 0
    let most = 0
    for (let reads = 0; ; reads += 1) {
      // Whoever reads ahead gets the chance to.
      if (reads % 64 === 0) await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, asked[0].sent - read)
      const { done, value } = await reader.read()
      if (done) break
      read += value.length
    }
    assert.ok(read > 100_000_000)
    assert.ok(most < 512 * KB, `${most} bytes were held at once`)
  }
})

test('two long answers at once do not mix, however their readers take turns', async (t) => {
  const lists = { x: ['["x"', ...Array.from({ length: 40 }, (_, at) => `,"${`x${at}-`.repeat(5000)}"`), ']'] }
  lists.y = lists.x.map((piece) => piece.replaceAll('x', 'y'))
  const { post } = openHandler(t, (id, { params: [name] }) => answerOf(id, lists[name]))
  const calls = ['x', 'y'].map((name) => ({ ...CALL, params: [name] }))
  const readers = (await Promise.all(calls.map((call) => post(call)))).map(({ body }) => body.getReader())
  const texts = ['', '']
  for (let open = 2; open > 0; ) {
    for (const [at, reader] of readers.entries()) {
      const { done, value } = reader === undefined ? {} : await reader.read()
      if (done) readers[at] = undefined
      if (done) open -= 1
      else if (value) texts[at] += Buffer.from(value).toString()
    }
  }
  assert.ok(texts[0] === expected(lists.x))
  assert.ok(texts[1] === expected(lists.y))
})

test('a provider whose long answers break off is left in the end', async (t) => {
  const { post, asked } = openHandler(t, (id, _, provider) =>
    [`{"id":${id},"result":`, ...[...large()].slice(0, -1), ...(provider === 'a' ? [] : [']}'])])
  for (let round = 0; round < 10; round += 1) await drain(await post())
  const ids = asked.map(({ id }) => id)
  assert.ok(ids.indexOf('b') > 0, ids.join(''))
  assert.deepEqual(ids.slice(-3), ['b', 'b', 'b'])
})

test('an error in the middle holds no URL of the provider', async (t) => {
  const url = 'https://a.test/'
  const { post } = openHandler(t, (id) => [`{"id":${id},"result":`, ...[...large()].slice(0, -1), () => Promise.reject(new Error(`lost ${url}`))])
  const { error } = await drain(await post())
  assert.doesNotMatch(inspect(error, { depth: Infinity, showHidden: true }), /a\.test/)
})
