import { createServer } from 'node:net'

// Below the range from which the kernel takes ports for outgoing connections: a port
// that is closed and opened again must not be taken by a client socket in between.
const FIRST = 20_000
const COUNT = 12_000

const tryPort = (port) =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** Finds a port on the loopback interface that nothing listens on. */
export async function freePort() {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await tryPort(port)) return port
  }
  throw new Error(`no free port found between ${FIRST} and ${FIRST + COUNT}`)
}
