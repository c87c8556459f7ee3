import assert from 'node:assert/strict'

/** Longer than any test waits: a timer, so that Node does not end while a gateway hangs. */
const NEVER = 60_000

/** One `URL` per name: `a` is `https://a.test/`. */
export const urls = (...names) => names.map((name) => new URL(`https://${name}.test`))

/** `count` gateways `g0`, `g1`, … */
export const manyUrls = (count) => urls(...Array.from({ length: count }, (_, at) => `g${at}`))

/** A gateways provider that counts its calls; `list` may be a function of the number of the call. */
export function countedProvider(list) {
  const provider = {
    calls: 0,
    getGateways: async () => {
      provider.calls += 1
      return typeof list === 'function' ? list(provider.calls) : list
    },
  }
  return provider
}

/** A foreign strategy: nothing but `selectGateway`, with the params of each call kept. */
export function spyStrategy(select) {
  const spy = {
    seen: [],
    selectGateway: async (params) => {
      spy.seen.push(params)
      return select(params, spy.seen.length)
    },
  }
  return spy
}

/**
 * Replaces the global `fetch` for test `t`. The answer of a URL is that of its longest prefix in `answers`: a status,
 * `{ status, ms, body }`, `'hang'`, `'refuse'`, or a function of the number of the call that gives one of them; `ms: 0`
 * answers without a timer. Every other URL is refused. `seen` has one entry per call.
 */
export function fakeGateways(t, answers) {
  const world = { seen: [], inFlight: 0, peak: 0 }
  const pending = new Set()
  const calls = new Map()

  function answerOf(href) {
    const prefixes = Object.keys(answers).filter((prefix) => href.startsWith(prefix))
    const prefix = prefixes.sort((a, b) => b.length - a.length)[0]
    const count = (calls.get(prefix) ?? 0) + 1
    calls.set(prefix, count)
    const given = answers[prefix] ?? 'refuse'
    const answer = typeof given === 'function' ? given(count) : given
    if (answer === 'hang') return { status: 200, ms: NEVER }
    if (answer === 'refuse') return { status: 0, ms: 0 }
    return typeof answer === 'number' ? { status: answer, ms: 0 } : { status: 200, ms: 0, ...answer }
  }

  async function fetch(input, init = {}) {
    // What a browser does when `fetch` is called as a method of something else.
    if (this !== undefined && this !== globalThis) throw new TypeError('Illegal invocation')
    assert.ok(typeof input === 'string' || input instanceof URL, 'fetch gets a string or a URL')
    const { href, origin } = new URL(input)
    const call = { href, origin, method: init.method ?? 'GET', signal: init.signal, headers: [...new Headers(init.headers).keys()] }
    world.seen.push(call)
    const { status, ms, body = null } = answerOf(href)
    world.inFlight += 1
    world.peak = Math.max(world.peak, world.inFlight)
    try {
      init.signal?.throwIfAborted()
      if (ms > 0) await wait(ms, init.signal)
      if (status === 0) throw new TypeError('fetch failed')
      return new Response(body, { status })
    } finally {
      world.inFlight -= 1
    }
  }

  function wait(ms, signal) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      pending.add(timer)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  }

  const original = globalThis.fetch
  globalThis.fetch = fetch
  t.after(() => {
    globalThis.fetch = original
    for (const timer of pending) clearTimeout(timer)
  })

  /** How often each origin was asked. */
  world.counts = () => {
    const counts = {}
    for (const { origin } of world.seen) counts[origin] = (counts[origin] ?? 0) + 1
    return counts
  }
  /** What was asked, in order: `HEAD https://a.test/`. */
  world.requests = () => world.seen.map(({ method, href }) => `${method} ${href}`)
  return world
}

/** Both clocks of the platform, stopped for test `t`, which puts them forward by setting `ms`. */
export function stoppedClocks(t) {
  const clocks = { ms: 0 }
  for (const source of [Date, performance]) {
    const start = source.now()
    t.mock.method(source, 'now', () => start + clocks.ms)
  }
  return clocks
}

/** Lets everything run that waits for no timer. */
export async function settle() {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Fails the file's last hook if any promise of it was rejected with nobody listening. */
export function forbidUnhandled(after) {
  const unhandled = []
  process.on('unhandledRejection', (reason) => unhandled.push(reason))
  after(async () => {
    await settle()
    assert.deepEqual(unhandled, [])
  })
}
