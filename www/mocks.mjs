/** Mock providers: each a server with an origin, a pace and a way to fail of its own. */

import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { answer } from './chain.mjs'

/**
 * @typedef {{ id: string, medianMs: number, sigma: number }} Spec
 * @typedef {{ request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, spec: Spec }} Exchange
 * @typedef {{ label: string, effect: string, respond: (exchange: Exchange) => void }} Mode
 */

/** @type {Spec[]} */
const SPECS = [
  { id: 'swift', medianMs: 40, sigma: 0.12 },
  { id: 'steady', medianMs: 80, sigma: 0.05 },
  { id: 'distant', medianMs: 160, sigma: 0.1 },
  { id: 'erratic', medianMs: 60, sigma: 0.6 },
]

const RETRY_AFTER_S = 15
const SLOW_FACTOR = 10

/** Log-normal, as latencies are: never negative, with a tail. */
function latency({ medianMs, sigma }) {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
  return medianMs * Math.exp(sigma * normal)
}

/**
 * @param {Exchange} exchange
 * @param {number} factor
 */
async function respond({ request, response, spec }, factor) {
  const body = await text(request).catch(() => undefined)
  // The client has left.
  if (body === undefined) return
  setTimeout(() => {
    if (!response.destroyed) response.writeHead(200, { 'content-type': 'application/json' }).end(answer(body))
  }, latency(spec) * factor).unref()
}

/**
 * @param {Exchange} exchange
 * @param {number} status
 * @param {string} type
 * @param {string} body
 */
function refuse({ request, response }, status, type, body) {
  request.resume()
  response.writeHead(status, { 'content-type': type }).end(body)
}

/** @type {Record<string, Mode>} */
const MODES = {
  healthy: {
    label: 'Healthy', effect: 'answers at its own pace', respond: (exchange) => respond(exchange, 1),
  },
  down: {
    label: 'Down', effect: 'drops every connection', respond: ({ request }) => request.socket.destroy(),
  },
  hangs: {
    label: 'Hangs', effect: 'takes requests, never answers', respond: ({ request }) => request.resume(),
  },
  error500: {
    label: '500', effect: 'answers with 500', respond: (exchange) => refuse(exchange, 500, 'text/plain', 'internal error'),
  },
  limit429: {
    label: '429', effect: `sends 429, retry in ${RETRY_AFTER_S} s`, respond: (exchange) => {
      exchange.response.setHeader('retry-after', RETRY_AFTER_S)
      refuse(exchange, 429, 'text/plain', 'too many requests')
    },
  },
  slow: {
    label: `Slow ×${SLOW_FACTOR}`, effect: `takes ${SLOW_FACTOR} times as long`, respond: (exchange) => respond(exchange, SLOW_FACTOR),
  },
  html: {
    label: 'HTML', effect: 'answers with a web page, not JSON', respond: (exchange) =>
      refuse(exchange, 200, 'text/html', '<!doctype html><title>Welcome</title><h1>It works!</h1>'),
  },
}

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'content-type',
  'access-control-expose-headers': 'retry-after, date',
  'access-control-max-age': '600',
}

/**
 * Has a server listen on the loopback interface.
 *
 * @param {import('node:http').Server} server
 * @param {number} port 0 for any that is free
 * @returns {Promise<number>} the port
 */
export function listen(server, port) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve(/** @type {import('node:net').AddressInfo} */ (server.address()).port)
    })
  })
}

class Mock {
  #spec
  #mode = 'healthy'
  #server = createServer((request, response) => this.#handle(request, response))
  #url = ''

  /** @param {Spec} spec */
  constructor(spec) {
    this.#spec = spec
  }

  async start() {
    this.#url = `http://127.0.0.1:${await listen(this.#server, 0)}/`
  }

  stop() {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** @param {string} mode */
  set mode(mode) {
    this.#mode = mode
  }

  describe() {
    const { id, medianMs } = this.#spec
    return { id, medianMs, url: this.#url, mode: this.#mode }
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  #handle(request, response) {
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value)
    const isPreflight = request.method === 'OPTIONS'
    // A preflight goes through whatever can be reached at all, as with a proxy in front of the provider.
    if (isPreflight && this.#mode !== 'down') response.writeHead(204).end()
    else MODES[this.#mode].respond({ request, response, spec: this.#spec })
  }
}

/** All mock providers, and what they can be told. */
export class Mocks {
  #mocks = new Map(SPECS.map((spec) => [spec.id, new Mock(spec)]))

  async start() {
    await Promise.all([...this.#mocks.values()].map((mock) => mock.start()))
  }

  stop() {
    for (const mock of this.#mocks.values()) mock.stop()
  }

  describe() {
    return {
      mocks: [...this.#mocks.values()].map((mock) => mock.describe()),
      modes: Object.entries(MODES).map(([name, { label, effect }]) => ({ name, label, effect })),
    }
  }

  /**
   * @param {string} id
   * @param {unknown} mode
   * @returns {string | undefined} what is wrong with that, if anything
   */
  setMode(id, mode) {
    const mock = this.#mocks.get(id)
    if (!mock) return `There is no mock ${id}; there are: ${[...this.#mocks.keys()].join(', ')}.`
    if (typeof mode !== 'string' || !Object.hasOwn(MODES, mode)) {
      return `The mode ${mode} does not exist; there are: ${Object.keys(MODES).join(', ')}.`
    }
    mock.mode = mode
    return undefined
  }
}
