import assert from 'node:assert/strict'
import test from 'node:test'
import { openClient } from '../support/client.mjs'
import { startMocks } from '../support/providers.mjs'

const READ = { method: 'eth_getBalance', params: [] }

async function read(t, resultText, parse) {
  const [proxy] = await startMocks(t, 1)
  proxy.fault('rawResult', { resultText })
  return openClient(t, [proxy]).request(READ, { parse })
}

for (const text of ['9007199254740993', '12815844532926915242', '-9007199254740993']) {
  test(`${text} keeps its digits as bigint and as raw text`, async (t) => {
    assert.equal(await read(t, text, 'bigint'), BigInt(text))
    assert.equal(await read(t, text, 'raw'), text)
  })
}

test('raw text is passed on character by character', async (t) => {
  const text = '{"b": [1.0, 2e3,\t{"result":"}\\""}], "a": "\\u00e9", "__proto__": null }'
  assert.equal(await read(t, text, 'raw'), text)
})

test('bigint touches only integers that a number cannot hold', async (t) => {
  const text = `{"safe":9007199254740991,"long":[12815844532926915242],"float":1.2345678901234567,
    "exponent":1e30,"string":"9007199254740993","escaped":"\\"9007199254740993","tilde":"~9007199254740993"}`
  assert.deepEqual(await read(t, text, 'bigint'), {
    safe: 9007199254740991, long: [12815844532926915242n], float: 1.2345678901234567,
    exponent: 1e30, string: '9007199254740993', escaped: '"9007199254740993', tilde: '~9007199254740993',
  })
})

test('bigint leaves every string a string, however it is escaped', async (t) => {
  const text = '["\\u007e12", "\\u007ex", 9007199254740993]'
  assert.deepEqual(await read(t, text, 'bigint'), ['~12', '~x', 9007199254740993n])
})

test('results that look like nothing are results', async (t) => {
  for (const [text, value] of [['null', null], ['false', false], ['0', 0], ['""', ''], ['[]', []]]) {
    assert.deepEqual(await read(t, text, 'json'), value)
  }
})
