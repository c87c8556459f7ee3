// Mock JSON-RPC providers on loopback, in a process of their own: their work must not show in the client's.

import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { refusedAt } from './refusals.mjs'

const SELF = fileURLToPath(import.meta.url)
/** How long a slow provider takes. */
const SLOW_MS = 1000

const answer = (response, status, headers, body) => {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers })
  response.end(body)
}

const good = (response, { id, method }) => {
  const result = method === 'eth_chainId' ? '0x1' : '0x64'
  answer(response, 200, {}, JSON.stringify({ jsonrpc: '2.0', id, result }))
}

const limited = (seconds) => (response) =>
  answer(response, 429, { 'retry-after': String(seconds) }, '{"error":"too many requests"}')

const BEHAVIOURS = {
  good,
  hanging() {},
  limited: limited(60),
  throttled: limited(5),
  failing: (response) => answer(response, 500, { 'content-type': 'text/plain' }, 'Internal Server Error'),
  slow: (response, call) => setTimeout(good, SLOW_MS, response, call),
  page: (response) => answer(response, 200, { 'content-type': 'text/html' }, '<!doctype html><title>Maintenance</title>'),
}
/** Nobody listens. */
const DOWN = 'down'

const providers = new Map()

function listenAt(server, port) {
  return new Promise((resolve) => {
    const listen = () => server.listen(port, '127.0.0.1')
    // While it was down somebody may have got the port for a connection; those are short.
    const again = () => setTimeout(listen, 50)
    server.on('error', again)
    server.once('listening', () => {
      server.off('error', again)
      resolve()
    })
    listen()
  })
}

const shut = (server) =>
  new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })

async function start({ behaviour, delayMs = 0 }) {
  const provider = { behaviour, since: performance.now(), hits: 0, firstCallMs: undefined }
  const serve = (response, body) => {
    const call = JSON.parse(body)
    // Clients have questions of their own, such as pings.
    if (call.method === 'eth_getBalance') provider.firstCallMs ??= performance.now() - provider.since
    const { behaviour: own } = provider
    if (delayMs === 0) BEHAVIOURS[own](response, call)
    else setTimeout(BEHAVIOURS[own], delayMs, response, call)
  }
  provider.server = createServer((request, response) => {
    provider.hits += 1
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => serve(response, Buffer.concat(chunks).toString()))
  })
  provider.server.keepAliveTimeout = 60_000
  await listenAt(provider.server, 0)
  const { port } = provider.server.address()
  providers.set(port, provider)
  return port
}

/** Requests since the last turn, and when the first call of the application came. */
const seen = ({ hits, firstCallMs }) => ({ hits, firstCallMs })

/** Changes what a provider does, and tells what it has seen until now. What hangs is cut off. */
async function turn({ port, behaviour }) {
  const provider = providers.get(port)
  const before = seen(provider)
  if (provider.behaviour === 'hanging') provider.server.closeAllConnections()
  if (behaviour === DOWN) await shut(provider.server)
  else if (provider.behaviour === DOWN) await listenAt(provider.server, port)
  Object.assign(provider, { behaviour, since: performance.now(), hits: 0, firstCallMs: undefined })
  return before
}

const ANSWERS = { start, turn, seen: ({ port }) => seen(providers.get(port)) }

if (process.argv[1] === SELF) {
  process.on('message', async ({ key, name, question }) => process.send({ key, value: await ANSWERS[name](question) }))
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
  const ask = (name, question) =>
    new Promise((resolve) => {
      keys += 1
      waiting.set(keys, resolve)
      child.send({ key: keys, name, question })
    })
  return {
    /** A provider's URL, how many requests it has seen, and how to change what it does. */
    async start(behaviour, delayMs) {
      const port = await ask('start', { behaviour, delayMs })
      let refused = 0
      return {
        url: `http://127.0.0.1:${port}/`,
        hits: async () => (await ask('seen', { port })).hits,
        /** What it has seen since the last turn, attempts that were refused included. */
        async turn(next) {
          const before = await ask('turn', { port, behaviour: next })
          const hits = before.hits + refusedAt(port) - refused
          refused = refusedAt(port)
          return { ...before, hits }
        },
      }
    },
    stop: () => child.kill(),
  }
}
