import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import test from 'node:test'

// Before the package is loaded: its memory is nobody's business otherwise.
const memories = []
const { Instance } = WebAssembly
WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, imports)
    memories.push(this.exports.memory)
  }
}
// Not every runtime has it, and nothing of ours may count on it. Node's own `Response` has been loaded with it.
Response.json({})
globalThis.FinalizationRegistry = undefined
const { createRpcClient, createWayfinderClient, StaticGatewaysProvider } = await import('waypost')

const pages = () => memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0) / 65_536

/** Pages that 80,000 calls may add: where the memory is free depends on which calls are under way together. */
const LESS_THAN_A_BYTE_EACH = 1

/** Calls `work` so many times, 50 at once, and returns what the module's memory was after a fifth and at the end. */
async function soak(count, work) {
  const seen = []
  for (const until of [count / 5, count]) {
    for (let call = 0; call < until; call += 50) await Promise.all(Array.from({ length: 50 }, (_, index) => work(call + index)))
    seen.push(pages())
  }
  return seen
}

test('100,000 requests leave the memory of the module, and listeners, as they were', async (t) => {
  const failing = (call) => call % 20 === 7
  const rpc = createRpcClient({
    providers: ['https://a.example', 'https://b.example', 'https://c.example'],
    strategy: 'latency_weighted',
    seed: 1,
    fetch: async (url, init) => {
      const { id, params } = JSON.parse(init.body)
      if (failing(params[0]) && String(url).includes('//a.')) return new Response('sick', { status: 503 })
      if (params[0] % 50 === 3) return Response.json({ jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } })
      return Response.json({ jsonrpc: '2.0', id, result: `0x${id}` })
    },
  })
  t.after(() => rpc.dispose())
  const { signal } = new AbortController()
  rpc.on('attempt', () => undefined)
  rpc.on('circuit', () => undefined)
  const methods = Array.from({ length: 40 }, (_, index) => `eth_getNumber${index}`)
  const [early, late] = await soak(100_000, (call) =>
    rpc.request({ method: methods[call % methods.length], params: [call] }, { signal }).catch((error) => assert.equal(error.code, 3)),
  )
  assert.ok(late - early <= LESS_THAN_A_BYTE_EACH, `${early} pages became ${late}`)
  assert.equal(rpc.status().openRequests, 0)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

test('5,000 pieces of content leave the memory of the module, and listeners, as they were', async () => {
  const { signal } = new AbortController()
  const wayfinder = createWayfinderClient({
    gatewaysProvider: new StaticGatewaysProvider({ gateways: ['https://a.example', 'https://b.example'] }),
    seed: 1,
    fetch: async (url) => new Response('data', { status: new URL(url).pathname.endsWith('7') ? 503 : 200 }),
  })
  const [early, late] = await soak(5_000, async (call) => (await wayfinder.request(`ar://ardrive/${call}`, { signal })).text())
  assert.equal(late, early)
  assert.deepEqual(getEventListeners(signal, 'abort'), [])
})

test('1,000 clients that are disposed of leave the memory of the module as it was', async () => {
  const [early, late] = await soak(1_000, async () => {
    const rpc = createRpcClient({
      providers: Array.from({ length: 20 }, (_, index) => `https://p${index}.example`),
      fetch: async (_url, init) => Response.json({ jsonrpc: '2.0', id: JSON.parse(init.body).id, result: '0x1' }),
    })
    await rpc.request({ method: 'eth_chainId' })
    rpc.dispose()
  })
  assert.equal(late, early)
})
