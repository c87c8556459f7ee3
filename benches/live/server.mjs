// Mock JSON-RPC providers on loopback, in a process of their own: their work must not show in the client's.

import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const SELF = fileURLToPath(import.meta.url)

const answer = (response, status, headers, body) => {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers })
  response.end(body)
}

const BEHAVIOURS = {
  good(response, body) {
    const { id, method } = JSON.parse(body)
    const result = method === 'eth_chainId' ? '0x1' : '0x64'
    answer(response, 200, {}, JSON.stringify({ jsonrpc: '2.0', id, result }))
  },
  hanging() {},
  limited(response) {
    answer(response, 429, { 'retry-after': '60' }, '{"error":"too many requests"}')
  },
}

const hits = new Map()

async function listen(behaviour) {
  const server = createServer((request, response) => {
    const { port } = server.address()
    hits.set(port, (hits.get(port) ?? 0) + 1)
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => BEHAVIOURS[behaviour](response, Buffer.concat(chunks).toString()))
  })
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

if (process.argv[1] === SELF) {
  process.on('message', async ({ key, behaviour, port }) => {
    process.send({ key, value: behaviour === undefined ? (hits.get(port) ?? 0) : await listen(behaviour) })
  })
}

/** The process, and how to start a provider in it. */
export function startHost() {
  const child = fork(SELF, { execArgv: [] })
  const waiting = new Map()
  child.on('message', ({ key, value }) => {
    waiting.get(key)(value)
    waiting.delete(key)
  })
  let keys = 0
  const ask = (question) =>
    new Promise((resolve) => {
      keys += 1
      waiting.set(keys, resolve)
      child.send({ key: keys, ...question })
    })
  return {
    /** A provider's URL, and how many requests it has seen. */
    async start(behaviour) {
      const port = await ask({ behaviour })
      return { url: `http://127.0.0.1:${port}/`, hits: () => ask({ port }) }
    },
    stop: () => child.kill(),
  }
}
