import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../port.mjs'

/** Far longer than any script of a test; without it a driver that has lost its browser is waited for for ever. */
const COMMAND_MS = 120_000

/** A driver process with the one session that it can have. */
export class Session {
  #process
  #url
  #last = Promise.resolve()

  constructor(process, url) {
    this.#process = process
    this.#url = url
  }

  /** Starts the driver and, with it, a browser. */
  static async start(file) {
    const port = await freePort()
    const driver = spawn(file, [`--port=${port}`], { stdio: 'ignore' })
    await once(driver, 'spawn')
    const session = new Session(driver, `http://127.0.0.1:${port}`)
    try {
      await session.#ready()
      const { sessionId } = await session.#send('POST', '/session', {
        capabilities: { alwaysMatch: { timeouts: { script: COMMAND_MS } } },
      })
      session.#url += `/session/${sessionId}`
      /** The window that is there from the beginning. With its last window a session ends. */
      session.first = await session.#send('GET', '/window')
      return session
    } catch (error) {
      driver.kill()
      throw error
    }
  }

  /** Opens one more window. */
  async open() {
    return (await this.at({ window: this.first }, '/window/new', { type: 'tab' })).handle
  }

  /** Runs a command in a window, or in a frame of it. One at a time: the place is the session's. */
  at({ window, frame }, path, body, method = 'POST') {
    const run = async () => {
      await this.#send('POST', '/window', { handle: window })
      await this.#send('POST', '/frame', { id: frame ?? null })
      return this.#send(method, path, body)
    }
    const result = this.#last.then(run)
    this.#last = result.catch(() => {})
    return result
  }

  /** What a window shows, as a PNG; written to a file if there is a path. */
  async screenshot(place, path) {
    const image = Buffer.from(await this.at(place, '/screenshot', undefined, 'GET'), 'base64')
    if (path) await writeFile(path, image)
    return image
  }

  /** Ends the browser and the driver. */
  async end() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exit = once(this.#process, 'exit')
    await this.#send('DELETE', '').catch(() => {})
    this.#process.kill()
    await exit
  }

  async #ready() {
    for (let tries = 0; tries < 500; tries += 1) {
      if (this.#process.exitCode !== null) break
      if (await fetch(`${this.#url}/status`).then(({ ok }) => ok, () => false)) return
      await delay(20)
    }
    throw new Error('The driver of the browser does not answer; without a display it cannot start: use xvfb-run -a')
  }

  async #send(method, path, body) {
    const response = await fetch(`${this.#url}${path}`, {
      method, body: body && JSON.stringify(body), signal: AbortSignal.timeout(COMMAND_MS),
    })
    const { value } = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`)
    return value
  }
}
