import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { rejection } from '../support/client.mjs'

const providers = ['https://a.example', 'https://b.example']
const bytes = await readFile(new URL('../../pkg/dist/waypost.wasm', import.meta.url))

/** An entry that nobody else has loaded. */
const fresh = (entry, name) => import(`${import.meta.resolve(entry)}?${name}`)

test('waypost/web says what to do if its module was not loaded, and with what it got in its place', async () => {
  const { createRpcClient, init } = await fresh('waypost/web', 'unloaded')
  assert.throws(() => createRpcClient({ providers }), { reason: 'unavailable', message: /Call `await init\(\)`/ })
  const page = new Response('<!doctype html>', { headers: { 'content-type': 'text/html; charset=utf-8' } })
  assert.match((await rejection(init(page))).message, /the answer has status 200 and the type "text\/html; charset=utf-8".*waypost\/wasm\?url/)
  assert.match((await rejection(init(new Response('', { status: 404 })))).message, /status 404 and the type "/)
  assert.throws(() => createRpcClient({ providers }), { reason: 'unavailable' })
  await init(new Response(bytes, { headers: { 'content-type': 'application/octet-stream' } }))
  createRpcClient({ providers }).dispose()
})

test('waypost/web takes a module that is compiled already, and loads once', async () => {
  const { createRpcClient, init } = await fresh('waypost/web', 'compiled')
  const first = init(new WebAssembly.Module(bytes))
  assert.equal(init('http://127.0.0.1:1/never-asked'), first)
  await first
  createRpcClient({ providers }).dispose()
})

test('where nothing may be compiled, the error names the two reasons that there are', async (t) => {
  const { createRpcClient } = await fresh('waypost', 'forbidden')
  const refusal = new WebAssembly.CompileError("Refused to compile: 'unsafe-eval' is not allowed")
  t.mock.method(WebAssembly, 'Module', function () {
    throw refusal
  })
  assert.throws(() => createRpcClient({ providers }), (error) => {
    assert.equal(error.reason, 'unavailable')
    assert.equal(error.cause, refusal)
    return /'wasm-unsafe-eval'.*condition "workerd".*Refused to compile/.test(error.message)
  })
})
