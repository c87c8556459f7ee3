import { createServer } from 'node:http'
import { Counters } from './counters.mjs'
import { FaultTable } from './faults.mjs'
import { freePort } from './port.mjs'

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
}

async function text(incoming) {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function forward(url, body) {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.json()
}

/**
 * One JSON-RPC provider under the control of a test: it stands in front of an upstream, a
 * URL or a function `(call) => result`, and misbehaves as its fault table says.
 */
class FaultProxy {
  #server
  #port
  #upstream
  #headers
  #table = new FaultTable()
  counters = new Counters()

  constructor(port, upstream, exposeHeaders) {
    this.#port = port
    this.#upstream = upstream
    this.#headers = { ...CORS, 'access-control-expose-headers': exposeHeaders.join(', ') }
    this.url = `http://127.0.0.1:${port}`
  }

  /** Switches a fault on: a name from `FAULTS`, with `method`, `times` and its own options. */
  fault(name, options) {
    this.#table.set(name, options)
    return this
  }

  /** Switches all faults off. */
  heal() {
    this.#table.clear()
    return this
  }

  /** Listens, again after `refuse`, on the same port. */
  async accept() {
    if (this.#server) return this
    const server = createServer((incoming, response) => {
      this.#exchange(incoming, response).catch(() => incoming.socket.destroy())
    })
    server.keepAliveTimeout = 0
    await new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#server = server
    return this
  }

  /** Closes the listening socket and all connections: new ones are refused. */
  async refuse() {
    const server = this.#server
    if (!server) return
    this.#server = undefined
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }

  async #exchange(incoming, response) {
    if (incoming.method === 'OPTIONS') {
      this.counters.preflight(incoming)
      response.writeHead(204, this.#headers).end()
      return
    }
    const body = await text(incoming)
    const parsed = JSON.parse(body)
    const isBatch = Array.isArray(parsed)
    const calls = isBatch ? parsed : [parsed]
    let dropped = false
    response.once('close', () => {
      if (!dropped && !response.writableFinished && this.#server) this.counters.abort()
    })
    this.counters.request(incoming, calls, isBatch)

    const begin = (status, headers) => response.writeHead(status, { ...this.#headers, ...headers })
    const send = (status, headers, content) => begin(status, headers).end(content)
    const drop = () => {
      dropped = true
      incoming.socket.resetAndDestroy()
    }
    const answer = () => this.#answer(body, parsed)
    const pass = async () => {
      const answers = await answer()
      send(200, { 'content-type': 'application/json' }, JSON.stringify(answers))
      this.counters.mark(calls, 'answered')
    }
    const run = async (context) => (this.#table.exchange(calls, isBatch) ?? pass)(context)
    // An upstream that died looks to the client like a provider that died.
    await run({ response, calls, isBatch, begin, send, drop, answer, pass }).catch(drop)
  }

  /** Asks the upstream for what no member fault answers. */
  async #answer(body, parsed) {
    const calls = [parsed].flat()
    const replaced = calls.map((call) => this.#table.member(call))
    if (replaced.every((answer) => answer === undefined)) return this.#ask(body, parsed)
    const answers = []
    for (const [position, call] of calls.entries()) {
      answers.push(replaced[position] ?? (await this.#ask(JSON.stringify(call), call)))
    }
    return Array.isArray(parsed) ? answers : answers[0]
  }

  async #ask(body, parsed) {
    const calls = [parsed].flat()
    if (typeof this.#upstream === 'string') {
      const answers = await forward(this.#upstream, body)
      this.counters.mark(calls.filter((_, position) => !('error' in [answers].flat()[position])), 'executed')
      return answers
    }
    this.counters.mark(calls, 'executed')
    const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, result: this.#upstream(call) }))
    return Array.isArray(parsed) ? answers : answers[0]
  }
}

/**
 * Starts a proxy that ends with test `t`. `exposeHeaders` are the answer headers that a page of
 * another origin may read.
 */
export async function startProxy(t, upstream, { exposeHeaders = ['retry-after'] } = {}) {
  const proxy = new FaultProxy(await freePort(), upstream, exposeHeaders)
  t.after(() => proxy.refuse())
  return proxy.accept()
}
