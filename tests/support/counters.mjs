import { EventEmitter } from 'node:events'

/** What a provider has seen: the facts that tests compare with what they expect. */
export class Counters {
  #changes = new EventEmitter().setMaxListeners(0)

  constructor() {
    this.reset()
  }

  reset() {
    /** Calls by method; each member of a batch counts. */
    this.hits = {}
    /** HTTP requests with a body. */
    this.bodies = 0
    /** Sizes of the batches seen, in order. */
    this.batches = []
    /** Headers of each HTTP request with a body. */
    this.headers = []
    /** Request targets (path and query) of each HTTP request with a body. */
    this.targets = []
    /** Connections that the client closed before it had the answer. */
    this.aborted = 0
    /** `access-control-request-headers` of each preflight request. */
    this.preflights = []
    /** Raw transactions: `{ raw, executed, answered }`, in order of arrival. */
    this.transactions = []
  }

  get total() {
    return Object.values(this.hits).reduce((sum, count) => sum + count, 0)
  }

  of(method) {
    return this.hits[method] ?? 0
  }

  /** Records one HTTP request that holds the JSON-RPC calls `calls`. */
  request(incoming, calls, isBatch) {
    this.bodies += 1
    this.headers.push(incoming.headers)
    this.targets.push(incoming.url)
    if (isBatch) this.batches.push(calls.length)
    for (const { method, params } of calls) {
      this.hits[method] = this.of(method) + 1
      if (method === 'eth_sendRawTransaction') {
        this.transactions.push({ raw: params[0], executed: false, answered: false })
      }
    }
    this.changed()
  }

  preflight(incoming) {
    this.preflights.push(incoming.headers['access-control-request-headers'] ?? '')
    this.changed()
  }

  abort() {
    this.aborted += 1
    this.changed()
  }

  /** Marks the latest unexecuted arrivals of these calls. */
  mark(calls, field) {
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue
      const entry = this.transactions.findLast(({ raw }) => raw === params[0])
      if (entry) entry[field] = true
    }
  }

  changed() {
    this.#changes.emit('change')
  }

  /** Resolves as soon as `condition(counters)` holds. */
  until(condition) {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition(this)) return
        this.#changes.off('change', check)
        resolve(this)
      }
      this.#changes.on('change', check)
      check()
    })
  }
}
