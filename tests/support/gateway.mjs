import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Counters } from './counters.mjs'
import { answerTo, pathOf } from './gateway-content.mjs'
import { GatewayFaults } from './gateway-faults.mjs'
import { CONTENT, NAMES } from './gateway-samples.mjs'
import { freePort } from './port.mjs'

export { sandboxOf } from './gateway-content.mjs'
export { fetchVia } from './gateway-fetch.mjs'
export { CONTENT, IDS, NAMES, digestOf, idOf } from './gateway-samples.mjs'

const TAGS = 'abcdefghijklmnopqrstuvwxyz'

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-expose-headers': '*',
  // A preflight that the browser remembers would not be counted.
  'access-control-max-age': '0',
}

/** What a gateway has seen. Preflight requests are no part of `hits`, `paths`, `targets` and `total`. */
class GatewayCounters extends Counters {
  /** Requests that are neither answered in full nor given up. */
  running = 0
  /** Open connections. */
  sockets = 0

  reset() {
    super.reset()
    /** Requests by path (without the query), then by method. */
    this.paths = {}
  }

  /** Requests of this method, of all paths or of one. */
  of(method, path) {
    if (path !== undefined) return this.paths[path]?.[method] ?? 0
    return method === 'OPTIONS' ? this.preflights.length : super.of(method)
  }

  begin(incoming) {
    const path = pathOf(incoming.url)
    this.running += 1
    this.paths[path] = { ...this.paths[path], [incoming.method]: this.of(incoming.method, path) + 1 }
    this.request(incoming, [{ method: incoming.method }], false)
  }

  end() {
    this.running -= 1
    this.changed()
  }

  connection(socket) {
    this.sockets += 1
    this.changed()
    socket.once('close', () => {
      this.sockets -= 1
      this.changed()
    })
  }

  /** Resolves as soon as no request that arrived is running. */
  idle() {
    return this.until(({ running }) => running === 0)
  }
}

/** One AR.IO gateway under the control of a test: it misbehaves as its faults say. */
class Gateway {
  #server
  #faults = new GatewayFaults()
  counters = new GatewayCounters()

  constructor(port, { content = CONTENT, names = NAMES, peers = [], tag = TAGS[0] }) {
    /** By id: `{ body, type, headers }`, or `{ manifest: { index: { path }, paths: { path: id }, fallback: id } }`. */
    this.content = content
    /** Ids by subdomain. */
    this.names = names
    /** URLs of the gateways in `/ar-io/peers`. */
    this.peers = peers
    /** What every answer has as `x-test-gateway`. */
    this.tag = tag
    this.port = port
    this.host = `127.0.0.1:${port}`
    this.url = `http://${this.host}`
  }

  /** The URL of this gateway under a name of two labels: gw-a.test for `fetchVia`, gw-a.localhost for browsers. */
  at(hostname) {
    return `http://${hostname}:${this.port}`
  }

  /** Switches a fault on: a name from `FAULTS`, with `method`, `path`, `times` and its own options. */
  fault(name, options) {
    this.#faults.set(name, options)
    return this
  }

  /** Switches all faults off. */
  heal() {
    this.#faults.clear()
    return this
  }

  /** Listens, again after `refuse`, on the same port. */
  async accept() {
    if (this.#server) return this
    const server = createServer((incoming, response) => {
      this.#exchange(incoming, response).catch(() => incoming.socket.destroy())
    })
    server.keepAliveTimeout = 0
    server.on('connection', (socket) => this.counters.connection(socket))
    await new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.port, '127.0.0.1', resolve)
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
    const common = { ...CORS, 'x-test-gateway': this.tag }
    if (incoming.method === 'OPTIONS') {
      this.counters.preflight(incoming)
      response.writeHead(204, common).end()
      return
    }
    const { method, headers, url: target } = incoming
    const client = new AbortController()
    let dropped = false
    response.once('close', () => {
      client.abort()
      if (!dropped && !response.writableFinished && this.#server) this.counters.abort()
      this.counters.end()
    })
    this.counters.begin(incoming)
    const request = { method, headers, target, host: headers.host, body: await text(incoming) }

    const begin = (answer) => {
      const hasLength = ![204, 304].includes(answer.status)
      const length = hasLength ? { 'content-length': Buffer.byteLength(answer.body) } : {}
      response.writeHead(answer.status, { ...common, ...length, ...answer.headers })
    }
    const send = (answer) => {
      begin(answer)
      response.end(answer.body)
    }
    const drop = (how) => {
      dropped = true
      incoming.socket[how]()
    }
    const answer = () => answerTo(this, request)
    const wait = (ms) => delay(ms, undefined, { signal: client.signal })
    const run = this.#faults.take(method, pathOf(target)) ?? (() => send(answer()))
    await run({ answer, begin, send, drop, wait, response })
  }
}

/** Starts a gateway that ends with test `t`, with the samples unless it is given other content or names. */
export async function startGateway(t, options = {}) {
  const gateway = new Gateway(await freePort(), options)
  t.after(() => gateway.refuse())
  return gateway.accept()
}

/** Starts gateways of the same content, with the tags a, b, c … */
export const startGateways = (t, count = 3, options = {}) =>
  Promise.all(Array.from({ length: count }, (_, index) => startGateway(t, { ...options, tag: TAGS[index] })))
