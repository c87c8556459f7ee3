// Calls of a client whose providers answer at once, in this thread: nothing but the shell and the engine.

import { createRpcClient } from 'waypost'

const CALL = { method: 'eth_getBalance', params: ['0x00000000000000000000000000000000000000aa', 'latest'] }
const PROVIDERS = ['a', 'b', 'c'].map((id) => ({ id, url: `https://${id}.example/` }))
const MEMBERS = 10

/** Has only what the client reads: a real one allocates more than the client, and differently in every Node. */
class PlainResponse {
  status = 200
  ok = true
  body = null
  headers = { get: (name) => (name.toLowerCase() === 'content-type' ? 'application/json' : null) }
  #value

  constructor(value) {
    this.#value = value
  }

  async text() {
    return JSON.stringify(this.#value)
  }
}

const success = ({ id }) => ({ jsonrpc: '2.0', id, result: '0x64' })
const missing = ({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32000, message: 'header not found' } })

async function answer(_url, { body }) {
  const request = JSON.parse(body)
  return new PlainResponse(Array.isArray(request) ? request.map(success) : success(request))
}

/** Whoever is asked first does not have the block. */
function missFirst() {
  let isMissing = false
  return async (_url, { body }) => {
    isMissing = !isMissing
    const reply = isMissing ? missing : success
    return new PlainResponse(reply(JSON.parse(body)))
  }
}

const client = (fetch) => createRpcClient({ providers: PROVIDERS, seed: 42, fetch })
const envelope = (_, id) => ({ jsonrpc: '2.0', id, ...CALL })

/** Makes a client, and returns what calls it. */
export const calls = {
  request() {
    const rpc = client(answer)
    return () => rpc.request(CALL)
  },
  'request that fails over'() {
    const rpc = client(missFirst())
    return () => rpc.request(CALL)
  },
  send() {
    const rpc = client(answer)
    return () => rpc.send(envelope(undefined, 1))
  },
  [`send, a batch of ${MEMBERS}`]() {
    const rpc = client(answer)
    const batch = Array.from({ length: MEMBERS }, envelope)
    return () => rpc.send(batch)
  },
}

export async function repeat(call, times) {
  for (let count = 0; count < times; count += 1) await call()
}
