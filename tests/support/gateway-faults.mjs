// A fault takes the whole exchange. It gets the options of its rule and `{ answer, begin, send, drop,
// wait, response }`: `answer()` is what a gateway in good health would say, `begin(answer)` writes its
// status and headers, `send(answer)` all of it, `drop(how)` ends the connection, and `wait(ms)` rejects
// as soon as the client is gone.

const always = (run) => ({ run, needsBody: false })
/** An answer to HEAD has no body in which to fail: it is left alone. */
const inBody = (run) => ({ run, needsBody: true })

const halfOf = (body) => Buffer.from(body).subarray(0, Math.ceil(body.length / 2))

/** Writes everything up to the middle of the body, and calls `then` when it is on its way. */
function sendHalf({ answer, begin, response }, then) {
  const whole = answer()
  begin(whole)
  response.write(halfOf(whole.body), then)
}

async function drip({ answer, begin, response, wait }, { chunks = 4, everyMs = 10 }) {
  const whole = answer()
  const body = Buffer.from(whole.body)
  const size = Math.ceil(body.length / chunks)
  begin(whole)
  response.flushHeaders()
  for (let start = 0; start < body.length; start += size) {
    await wait(everyMs)
    response.write(body.subarray(start, start + size))
  }
  response.end()
}

/** All faults by name, with the options each one takes in its rule. */
export const FAULTS = {
  // { status, headers, body }
  status: always(({ send }, { status = 503, headers = {}, body = '' }) => send({ status, headers, body })),
  // { location, status }
  redirect: always(({ send }, { location, status = 302 }) => send({ status, headers: { location }, body: '' })),
  // { delayMs }
  slow: always(async ({ answer, send, wait }, { delayMs }) => {
    await wait(delayMs)
    send(answer())
  }),
  // { until }: a promise, for a test that decides when the answer comes
  held: always(async ({ answer, send }, { until }) => {
    await until
    send(answer())
  }),
  hang: always(() => {}),
  reset: always(({ drop }) => drop('resetAndDestroy')),

  // { chunks, everyMs }
  slowBody: inBody(drip),
  hangBody: inBody((exchange) => sendHalf(exchange)),
  truncated: inBody((exchange) => sendHalf(exchange, () => exchange.drop('end'))),
}

/** The faults that are switched on, in the order in which they were. */
export class GatewayFaults {
  #rules = []

  /**
   * Switches a fault on: for all requests or only those of `method`, or of `path` (without its query),
   * for ever or only for `times` of them.
   */
  set(name, { method, path, times = Infinity, ...options } = {}) {
    if (!FAULTS[name]) throw new Error(`no fault is named ${name}; there are: ${Object.keys(FAULTS).join(', ')}`)
    this.#rules.push({ fault: FAULTS[name], method, path, left: times, options })
  }

  clear() {
    this.#rules = []
  }

  /** The fault for this request, if any: `(exchange) => …`. */
  take(method, path) {
    const rule = this.#rules.find((candidate) =>
      candidate.left > 0 &&
      (candidate.method ?? method) === method &&
      (candidate.path ?? path) === path &&
      !(candidate.fault.needsBody && method === 'HEAD'))
    if (!rule) return undefined
    rule.left -= 1
    return (exchange) => rule.fault.run(exchange, rule.options)
  }
}
