import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './port.mjs'

const START_BUDGET_MS = 20_000
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
const running = new Set()

// A signal ends a process without its exit handlers, and would leave nodes behind.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))

// The wrapper script of the package starts the binary as a grandchild that outlives
// a killed parent, so the binary itself is started.
function binary() {
  const require = createRequire(import.meta.url)
  const platform = `${process.platform}-${ARCHITECTURES[process.arch]}`
  return require.resolve(`@foundry-rs/anvil-${platform}/bin/anvil`)
}

async function answers(url) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
  const headers = { 'content-type': 'application/json', connection: 'close' }
  try {
    return (await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(1_000) })).ok
  } catch {
    return false
  }
}

/** One anvil process. It keeps its port over restarts, not its chain. */
class Anvil {
  #child
  #arguments

  constructor(port, isTicking) {
    this.url = `http://127.0.0.1:${port}`
    this.#arguments = ['--host', '127.0.0.1', '--port', `${port}`, '--silent']
    if (isTicking) this.#arguments.push('--mixed-mining', '--block-time', '1')
  }

  get pid() {
    return this.#child?.pid
  }

  async start() {
    const child = spawn(binary(), this.#arguments, { stdio: 'ignore' })
    this.#child = child
    running.add(child)
    child.once('exit', () => running.delete(child))
    const giveUpAt = Date.now() + START_BUDGET_MS
    while (!(await answers(this.url))) {
      if (child.exitCode !== null) throw new Error(`anvil ended with exit code ${child.exitCode}`)
      if (Date.now() > giveUpAt) throw new Error(`anvil gave no answer within ${START_BUDGET_MS} ms`)
      await delay(25)
    }
    return this
  }

  async stop() {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async restart() {
    await this.stop()
    return this.start()
  }
}

/**
 * Starts an anvil node that is stopped at the end of test `t`. It mines a block for each
 * transaction; a ticking one mines a block every second as well, for libraries that look for a
 * receipt again with the next block only.
 */
export async function startAnvil(t, { isTicking = false } = {}) {
  const node = new Anvil(await freePort(), isTicking)
  t.after(() => node.stop())
  return node.start()
}
