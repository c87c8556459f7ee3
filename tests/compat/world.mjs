import { spyStrategy } from '../support/fake-gateways.mjs'
import { startGateway } from '../support/gateway.mjs'

/** What is wrong with a gateway: the name of a fault and its options, or nothing. */
export const GOOD = undefined
export const DOWN = ['status', { status: 503 }]
export const HANG = ['hang']
export const RESET = ['reset']
export const says = (status, options) => ['status', { status, ...options }]
export const slow = (delayMs) => ['slow', { delayMs }]

/** What one scenario started and changed; all of it is undone at its end. */
export class World {
  #gateways = []
  #endings = []

  /** Runs a function at the end: what test helpers ask of their test. */
  after(ending) {
    this.#endings.unshift(ending)
  }

  async gateway(name, fault, options) {
    const started = await startGateway(this, { tag: name, ...options })
    if (fault) started.fault(...fault)
    const gateway = { name, url: new URL(started.url), counters: started.counters }
    this.#gateways.push(gateway)
    return gateway
  }

  /** Gateways by name, each with its fault, if any. */
  async gateways(faults) {
    const started = []
    // One after the other: a port that was found free must be taken before another is looked for.
    for (const [name, fault] of Object.entries(faults)) started.push(await this.gateway(name, fault))
    return started
  }

  /** The name of the gateway that a URL leads to. */
  name = (url) => this.#gateways.find((gateway) => gateway.url.host === url?.host)?.name ?? String(url)

  /** `Math.random` repeats itself in every run, so that an unlucky strategy is unlucky every time. */
  makeChancesRepeat() {
    let state = 12_345
    this.replace(Math, 'random', () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return state / 2 ** 32
    })
  }

  /** Replaces a property until the end. */
  replace(object, key, value) {
    const original = Object.getOwnPropertyDescriptor(object, key)
    Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable: true })
    this.after(() => (original ? Object.defineProperty(object, key, original) : Reflect.deleteProperty(object, key)))
  }

  async close() {
    for (const ending of this.#endings) await ending()
  }
}

/** A strategy of a user, which takes gateways in turn. */
export const inTurn = (...gateways) => spyStrategy((_, call) => gateways[(call - 1) % gateways.length].url)

/** A function that fails with this text. */
export const failure = (text) => () => {
  throw new Error(text)
}

export const urlsOf = (gateways) => gateways.map((gateway) => gateway.url)

/** What became of a call, in words: its value, or the text of its error. */
export async function outcome(call, show = String) {
  try {
    return show(await call())
  } catch (error) {
    return `error: ${error?.message ?? error}`
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Whether a condition comes true within a quarter of a second. */
export async function soon(condition) {
  for (let tries = 0; tries < 25 && !condition(); tries += 1) await pause(10)
  return condition()
}
