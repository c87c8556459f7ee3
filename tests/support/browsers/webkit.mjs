import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Session } from './webdriver.mjs'

/** What tests may ask for and WebKit, as it is steered here, has not. */
export const LACKS = {
  'init scripts': 'WebDriver runs nothing in a page before the page\'s own scripts',
  routes: 'WebDriver replaces no answers',
  'color schemes': 'WebDriver sets none',
}

/** WebKit keeps what it could not load out of the errors of a page. */
export const isReport = () => false

/**
 * The script of one evaluation. Values travel as JSON text: WebDriver's own copies lose what it does not know. The source
 * stands outside of all scopes, for a name of theirs would hide the page's.
 */
const scriptOf = (source) => `((work, argument, done) => {
  const fail = (error) => done(JSON.stringify({ error: error?.stack ? error + '\\n' + error.stack : String(error) }))
  const run = async () => work(argument === null ? undefined : JSON.parse(argument))
  run().then((value) => done(JSON.stringify({ value })), fail)
})(${source}, ...arguments)`

const pollOf = (condition) => `((isTrue) => async (argument) => {
  while (!(await isTrue(argument))) await new Promise((resolve) => setTimeout(resolve, 20))
})(${condition})`

/** Runs in the page: WebDriver tells nobody of errors. */
function watchErrors() {
  window.pageErrors = []
  addEventListener('error', ({ error, message }) => window.pageErrors.push(String(error ?? message)))
  addEventListener('unhandledrejection', ({ reason }) => window.pageErrors.push(String(reason)))
}

class Frame {
  #session
  #place

  constructor(session, place) {
    this.#session = session
    this.#place = place
  }

  /** Runs a function of one argument in the page, and answers with what it returns or fulfils. */
  async evaluate(work, argument) {
    const args = [argument === undefined ? null : JSON.stringify(argument)]
    const { value, error } = JSON.parse(await this.#session.at(this.#place, '/execute/async', { script: scriptOf(work), args }))
    if (error) throw new Error(error)
    return value
  }
}

/** One window, with the names of playwright's page for all that works here. */
class Page {
  #session
  #window
  #main
  #owned
  #bindings = new Map()
  #server
  #heard = []

  constructor(session, window, owned) {
    this.#session = session
    this.#window = window
    this.#main = new Frame(session, { window })
    this.#owned = owned
  }

  async goto(url) {
    await this.#collect()
    await this.#session.at({ window: this.#window }, '/url', { url })
    await this.#prepare()
  }

  async reload() {
    await this.#collect()
    await this.#session.at({ window: this.#window }, '/refresh', {})
    await this.#prepare()
  }

  evaluate(work, argument) {
    return this.#main.evaluate(work, argument)
  }

  async waitForFunction(condition, argument) {
    await this.evaluate(pollOf(condition), argument)
  }

  /** The window's own, and its first frame. */
  frames() {
    return [this.#main, new Frame(this.#session, { window: this.#window, frame: 0 })]
  }

  mainFrame() {
    return this.#main
  }

  /** The only event is `pageerror`; its listeners hear of it when the page is left. */
  on(event, listener) {
    if (event === 'pageerror') this.#heard.push(listener)
  }

  /** Calls from the page come by HTTP: WebDriver is busy with the script that makes them. */
  async exposeFunction(name, work) {
    this.#bindings.set(name, work)
    if (!this.#server) {
      const headers = { 'access-control-allow-origin': '*' }
      this.#server = createServer(async (request, response) => {
        const result = await this.#bindings.get(request.url.slice(1))(...JSON.parse(await text(request)))
        response.writeHead(200, headers).end(JSON.stringify({ result }))
      })
      await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    }
    await this.evaluate(({ name, url }) => {
      const call = fetch
      window[name] = async (...args) => (await (await call(url, { method: 'POST', body: JSON.stringify(args) })).json()).result
    }, { name, url: `http://127.0.0.1:${this.#server.address().port}/${name}` })
  }

  async screenshot({ path } = {}) {
    return this.#session.screenshot({ window: this.#window }, path)
  }

  async close() {
    await this.#collect()
    this.#server?.closeAllConnections()
    this.#server?.close()
    await (this.#owned ? this.#session.end() : this.#session.at({ window: this.#window }, '/window', undefined, 'DELETE'))
  }

  #prepare() {
    return this.evaluate(watchErrors)
  }

  async #collect() {
    const errors = await this.evaluate(() => window.pageErrors ?? [])
    for (const listener of this.#heard) for (const message of errors) listener(new Error(message))
  }
}

/** A session of WebDriver has a profile of its own, as a context of playwright has. */
class Context {
  #session

  constructor(session) {
    this.#session = session
  }

  async newPage() {
    return new Page(this.#session, await this.#session.open(), false)
  }

  close() {
    return this.#session.end()
  }
}

/** WebKitGTK, which needs a display: `xvfb-run -a` brings one. */
export async function launch() {
  const sessions = []
  const start = async () => {
    const session = await Session.start(process.env.WEBKITDRIVER ?? '/usr/bin/WebKitWebDriver')
    sessions.push(session)
    return session
  }
  return {
    newContext: async () => new Context(await start()),
    newPage: async () => {
      const session = await start()
      return new Page(session, session.first, true)
    },
    close: () => Promise.all(sessions.map((session) => session.end())),
  }
}
