// `node xtask/worker.mjs [--port N]`: serves examples/worker in the Workers runtime, over mock providers, until it is interrupted.

import { Miniflare } from 'miniflare'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { readPort, stopWith } from './arguments.mjs'
import { mockProviders } from './mock-providers.mjs'
import { workerOptions } from './workerd.mjs'

const DEFAULT_PORT = '4000'

/** The runtime itself says it less clearly. */
async function checkFree(port) {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    stopWith(`Port ${port} cannot be used (${code}). Choose another one: --port 0 takes any that is free.`)
  }
  server.close()
  await once(server, 'close')
}

/** Lines to try, for whoever has just started this. */
function help(origin) {
  const lines = ['fastest/ethereum', 'ethereum/alchemy', 'profile/testnet/base?include_meta=body'].map((path) => {
    const call = '{"jsonrpc":"2.0","method":"web3_clientVersion","params":[],"id":1}'
    return `  curl -X POST '${origin}/rpc/${path}' -H 'Content-Type: application/json' -d '${call}'`
  })
  return [
    `Waypost worker: ${origin}/, with mock providers. Ctrl-C stops it. Try:`,
    '',
    ...lines,
    `  curl ${origin}/api/chains`,
    `  curl ${origin}/api/metrics/ethereum`,
  ].join('\n')
}

const port = readPort(DEFAULT_PORT)
if (!existsSync(new URL('../pkg/dist/workerd.js', import.meta.url))) {
  stopWith('The package is not built. Run `cargo xtask worker`, which builds it first.')
}
await checkFree(port)

const worker = new Miniflare({
  ...(await workerOptions({ example: 'worker' })),
  port,
  bindings: { ALCHEMY_API_KEY: 'mock', INFURA_API_KEY: 'mock' },
  outboundService: await mockProviders(),
})

const { port: taken } = await worker.ready
console.log(help(`http://localhost:${taken}`))

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => worker.dispose())
