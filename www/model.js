/** What the client's events add up to. Everything is kept for a minute, and no more than a fixed number of it. */

/**
 * @typedef {import('waypost/web').AttemptEvent} AttemptEvent
 * @typedef {import('waypost/web').RequestEvent} RequestEvent
 * @typedef {import('waypost/web').CircuitEvent} CircuitEvent
 * @typedef {import('waypost/web').RateLimitEvent} RateLimitEvent
 * @typedef {{ at: number, ms: number, kind: 'answer' | 'failure' | 'abandoned' }} Sample
 * @typedef {{ number: number, date: Date, event: RequestEvent }} RequestEntry
 * @typedef {{ number: number, date: Date, event: CircuitEvent | RateLimitEvent }} EventEntry
 */

export const WINDOW_MS = 60_000
const SHOWN = 20
const MOST_SAMPLES = 2_000

/** Errors that a provider is right to send. */
const NO_FAULT = new Set(['revert', 'caller'])

/**
 * What an attempt says of its provider: a revert is an answer.
 *
 * @param {import('waypost/web').AttemptRecord} attempt
 */
export function kindOf({ outcome, class: word }) {
  if (outcome === 'abandoned') return 'abandoned'
  return word === undefined || NO_FAULT.has(word) ? 'answer' : 'failure'
}

/**
 * @template {{ at: number }} Item
 * @param {Item[]} items the oldest first
 * @param {number} now
 */
function forget(items, now) {
  const fresh = items.findIndex(({ at }) => now - at < WINDOW_MS)
  const stale = fresh < 0 ? items.length : fresh
  items.splice(0, Math.max(stale, items.length - MOST_SAMPLES))
}

/**
 * The smallest value that at least this share of the values does not exceed.
 *
 * @param {readonly number[]} sorted
 * @param {number} share
 */
function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}

export class Model {
  /** @type {{ at: number, ms: number, attempts: number }[]} */
  #requests = []
  /** @type {Map<string, Sample[]>} */
  #samples = new Map()
  /** @type {RequestEntry[]} */
  requests = []
  /** @type {EventEntry[]} */
  events = []
  #ended = 0
  #answered = 0
  #failed = 0
  #eventCount = 0
  #now

  /** @param {() => number} now */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** @param {import('waypost/web').RpcClient} rpc */
  watch(rpc) {
    rpc.on('attempt', (event) => this.#addAttempt(event))
    rpc.on('request', (event) => this.#addRequest(event))
    rpc.on('circuit', (event) => this.#addEvent(event))
    rpc.on('ratelimit', (event) => this.#addEvent(event))
  }

  /** @param {AttemptEvent} event */
  #addAttempt(event) {
    const at = this.#now()
    const samples = this.#samples.get(event.provider) ?? []
    this.#samples.set(event.provider, samples)
    samples.push({ at, ms: event.ms, kind: kindOf(event) })
    forget(samples, at)
  }

  /** @param {RequestEvent} event */
  #addRequest(event) {
    const at = this.#now()
    this.#ended += 1
    if (event.outcome === 'success' || event.outcome === 'error') this.#answered += 1
    if (event.outcome === 'failed') this.#failed += 1
    this.#requests.push({ at, ms: event.ms, attempts: event.attempts.length })
    forget(this.#requests, at)
    this.requests = [...this.requests, { number: this.#ended, date: new Date(), event }].slice(-SHOWN)
  }

  /** @param {CircuitEvent | RateLimitEvent} event */
  #addEvent(event) {
    this.#eventCount += 1
    this.events = [...this.events, { number: this.#eventCount, date: new Date(), event }].slice(-SHOWN)
  }

  /** Counts since the page was loaded, the rest over the last minute. */
  totals() {
    forget(this.#requests, this.#now())
    const sorted = this.#requests.map(({ ms }) => ms).sort((a, b) => a - b)
    const attempts = this.#requests.reduce((sum, request) => sum + request.attempts, 0)
    return {
      ended: this.#ended,
      answered: this.#answered,
      failed: this.#failed,
      medianMs: quantile(sorted, 0.5),
      p95Ms: quantile(sorted, 0.95),
      attemptsPerRequest: sorted.length === 0 ? null : attempts / sorted.length,
    }
  }

  /** The last minute's attempts by provider, with their age. */
  lastMinute() {
    const now = this.#now()
    for (const samples of this.#samples.values()) forget(samples, now)
    const all = [...this.#samples.values()].reduce((sum, samples) => sum + samples.length, 0)
    return {
      /** @param {string} provider */
      of: (provider) => {
        const samples = this.#samples.get(provider) ?? []
        return { samples, count: samples.length, share: all === 0 ? null : samples.length / all }
      },
      all,
      now,
      /** Of all providers together, so that their pictures can be compared. */
      slowestMs: Math.max(0, ...[...this.#samples.values()].flat().flatMap(({ kind, ms }) => (kind === 'answer' ? [ms] : []))),
    }
  }
}
