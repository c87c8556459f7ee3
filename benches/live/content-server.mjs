// Mock gateways: each has a port of its own, and answers any path after its own time.

import { createServer } from 'node:http'
import { answerWith } from './content-process.mjs'

const BODY = 'x'.repeat(1024)

const counts = new Map()

/** A port on loopback; `isDead`: that nobody listens on. */
async function listen({ delayMs = 0, status = 200, isDead = false, isKeptAlive = true }) {
  const server = createServer((request, response) => {
    const { port } = server.address()
    counts.get(port)[request.method] += 1
    const headers = { 'content-length': BODY.length, 'x-port': port, ...(!isKeptAlive && { connection: 'close' }) }
    const answer = () => response.writeHead(status, headers).end(BODY)
    if (delayMs === 0) answer()
    else setTimeout(answer, delayMs)
  })
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  counts.set(port, { HEAD: 0, GET: 0 })
  if (isDead) await new Promise((resolve) => server.close(resolve))
  return port
}

/** Requests at these ports since the last question. */
function count(ports) {
  const sum = { HEAD: 0, GET: 0 }
  for (const port of ports) {
    for (const method of Object.keys(sum)) sum[method] += counts.get(port)[method]
    counts.set(port, { HEAD: 0, GET: 0 })
  }
  return sum
}

answerWith({ listen: (gateways) => Promise.all(gateways.map(listen)), count })
