import assert from 'node:assert/strict'
import test from 'node:test'
import { buildSync } from 'esbuild'
import { fileURLToPath } from 'node:url'

// The scanner is no part of the public API: it is tested as a module of its own.
const { outputFiles } = buildSync({
  entryPoints: [fileURLToPath(new URL('../../pkg/src/edge/envelope.ts', import.meta.url))],
  bundle: true, format: 'esm', write: false, target: 'es2022',
})
const { EnvelopeScanner } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)

/** Small, and the same on every machine (mulberry32). */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

function scan(text, cut = () => Infinity) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  const scanner = new EnvelopeScanner()
  const parts = []
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, Math.min(cut(), bytes.length - at))
    parts.push(Buffer.from(scanner.push(bytes.subarray(at, at + size))))
    at += size
  }
  const { id, hasError, hasResult, isBroken, isComplete } = scanner
  return { id, hasError, hasResult, isBroken, isComplete, result: Buffer.concat(parts).toString() }
}

const whole = { hasError: false, hasResult: true, isBroken: false, isComplete: true }

for (const [what, text, expected] of [
  ['a result', '{"jsonrpc":"2.0","id":7,"result":"0x1"}', { id: '7', result: '"0x1"' }],
  ['a result before the id', '{"result":[1,{"a":"]}"}],"id":7}', { id: '7', result: '[1,{"a":"]}"}]' }],
  ['space everywhere', ' \n{ "id" : 7 ,\t"result" : { "a" : 1 } \r\n} \n', { id: '7', result: '{ "a" : 1 }' }],
  ['a result null', '{"id":7,"result":null}', { id: '7', result: 'null' }],
  ['a big number', '{"id":7,"result":123456789012345678901234567890}', { id: '7', result: '123456789012345678901234567890' }],
  ['an error null beside it', '{"id":7,"error":null,"result":true}', { id: '7', result: 'true' }],
  ['nested members of the same names', '{"id":7,"result":{"result":1,"error":{"id":2}}}', { id: '7', result: '{"result":1,"error":{"id":2}}' }],
  ['an escaped name', '{"\\u0069d":7,"re\\u0073ult":1}', { id: '7', result: '1' }],
  ['quotes and backslashes in strings', '{"id":"a\\"b","result":"\\\\\\"\\\\"}', { id: '"a\\"b"', result: '"\\\\\\"\\\\"' }],
  ['other members', '{"meta":{"x":[{}]},"id":7,"result":1,"more":"}"}', { id: '7', result: '1' }],
  ['a long name', `{"${'x'.repeat(500)}":1,"id":7,"result":1}`, { id: '7', result: '1' }],
  ['no id', '{"result":1}', { id: undefined, result: '1' }],
]) {
  test(`it finds the result: ${what}`, () => {
    assert.deepEqual(scan(text), { ...whole, ...expected })
    assert.deepEqual(scan(text, () => 1), { ...whole, ...expected }, 'byte by byte')
  })
}

test('an error is seen, whatever it is, and before the result if it comes first', () => {
  for (const error of ['{"code":1}', '"x"', '[]', '7', 'true']) assert.equal(scan(`{"id":1,"error":${error}}`).hasError, true)
})

for (const [what, text] of [
  ['an array', '[1]'], ['a string', '"x"'], ['HTML', '<html>'], ['two results', '{"result":1,"result":2}'],
  ['two ids', '{"id":1,"id":2}'], ['two errors', '{"error":null,"error":null}'], ['the same name by an escape', '{"id":1,"\\u0069d":2}'],
  ['text after the end', '{"id":1}x'], ['a second object', '{"id":1}{}'], ['no colon', '{"id" 1}'], ['no comma', '{"id":1 "result":2}'],
  ['a comma at the end', '{"id":1,}'], ['a value that is none', '{"result":x}'], ['an id that is too long', `{"id":"${'1'.repeat(200)}"}`],
]) {
  test(`it is broken: ${what}`, () => {
    assert.equal(scan(text).isBroken, true)
    assert.equal(scan(text, () => 1).isBroken, true, 'byte by byte')
  })
}

test('every truncation is seen', () => {
  const text = '{"jsonrpc":"2.0","id":7,"result":{"a":["\\"}",1]}}'
  for (let length = 0; length < text.length; length += 1) assert.equal(scan(text.slice(0, length)).isComplete, false, text.slice(0, length))
  assert.equal(scan(text).isComplete, true)
})

/** A random value, and now and then a nasty one. */
function value(random, depth = 0) {
  const nasty = ['"', '\\', '\\"', '}', ']', '{"result":', ',"id":', '\u2028', '😀', '\u0000', 'é']
  const pick = (list) => list[Math.floor(random() * list.length)]
  const text = () => Array.from({ length: Math.floor(random() * 6) }, () => pick([...nasty, 'a', '0x12'])).join('')
  const kind = Math.floor(random() * (depth > 3 ? 4 : 6))
  if (kind === 0) return text()
  if (kind === 1) return Math.floor(random() * 1e9) * (random() < 0.5 ? -1 : 1.5)
  if (kind === 2) return pick([true, false, null])
  if (kind === 3) return pick([0, -0.5, 1e21, 1e-7, ''])
  const length = Math.floor(random() * 4)
  if (kind === 4) return Array.from({ length }, () => value(random, depth + 1))
  return Object.fromEntries(Array.from({ length }, () => [pick(['result', 'id', 'error', text()]), value(random, depth + 1)]))
}

test('whatever the value, the order, the space and the cuts: its bytes come out as they are', () => {
  const random = generator(20261130)
  const space = () => [' ', '', '\n', '\t \r'][Math.floor(random() * 4)]
  for (let round = 0; round < 3000; round += 1) {
    const result = JSON.stringify(value(random), null, random() < 0.3 ? 2 : 0)
    const members = [['jsonrpc', '"2.0"'], ['id', String(round)], ['result', result], ['extra', JSON.stringify(value(random))]]
    members.sort(() => random() - 0.5)
    const text = `${space()}{${space()}${members.map(([name, raw]) => `"${name}"${space()}:${space()}${raw}${space()}`).join(`,${space()}`)}}${space()}`
    const got = scan(text, () => 1 + Math.floor(random() * 20))
    assert.deepEqual(got, { ...whole, id: String(round), result }, text)
  }
})

test('random bytes and random cuts of good ones never throw, and are never complete by accident', () => {
  const random = generator(7)
  const alphabet = '{}[]":,\\ 0123ntfx'
  for (let round = 0; round < 5000; round += 1) {
    const text = Array.from({ length: Math.floor(random() * 30) }, () => alphabet[Math.floor(random() * alphabet.length)]).join('')
    const { isComplete, hasResult } = scan(text, () => 1 + Math.floor(random() * 5))
    if (isComplete && hasResult) assert.match(text, /^\s*\{.*\}\s*$/s)
  }
})
