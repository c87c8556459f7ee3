/** `node www/serve.mjs [--port N]`: serves the demo page and its mock providers until it is interrupted. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readPort, stopWith } from '../xtask/arguments.mjs'
import { listen, Mocks } from './mocks.mjs'
import { createSite } from './site.mjs'

const DEFAULT_PORT = '8080'

const wanted = readPort(DEFAULT_PORT)
const dist = join(import.meta.dirname, '..', 'pkg', 'dist')
if (!existsSync(join(dist, 'web.js'))) stopWith('The package is not built. Run `cargo xtask demo`, which builds it first.')

const mocks = new Mocks()
await mocks.start()
const site = createSite({ www: import.meta.dirname, dist, mocks })

try {
  const port = await listen(site, wanted)
  console.log(`Waypost demo: http://127.0.0.1:${port}/`)
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
  stopWith(`Port ${wanted} cannot be used (${code ?? message}). Choose another one: --port 0 takes any that is free.`)
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    mocks.stop()
    site.close()
    site.closeAllConnections()
  })
}
