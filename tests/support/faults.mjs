import { setTimeout as delay } from 'node:timers/promises'

// Each fault is one of two kinds. A `member` fault replaces the answer to one call, alone
// or inside a batch. An `exchange` fault takes the whole HTTP exchange: it gets
// `{ response, calls, isBatch, answer, pass, send }` and the options of its rule, where
// `answer()` asks the upstream, `send(status, headers, text)` writes an answer, and
// `pass()` does both.

const JSON_TYPE = { 'content-type': 'application/json' }
const HTML = '<!doctype html><title>Bad gateway</title><h1>502 Bad gateway</h1>'

const member = (replace) => ({ member: replace })
const exchange = (run, onlyBatches = false) => ({ exchange: run, onlyBatches })

const withStatus = ({ send }, { status, headers = {}, body = '' }) => send(status, headers, body)

function rateLimited({ send }, { retryAfter, body = 'too many requests' }) {
  const headers = retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` }
  send(429, headers, typeof body === 'string' ? body : JSON.stringify(body))
}

async function half({ answer }) {
  const text = JSON.stringify(await answer())
  return text.slice(0, Math.ceil(text.length / 2))
}

/** A length that is longer than the text: the body is not finished. */
async function stallBody(context) {
  const text = await half(context)
  context.begin(200, { ...JSON_TYPE, 'content-length': `${text.length * 2}` })
  context.response.write(text)
}

async function changeAnswer({ answer, send }, change) {
  send(200, JSON_TYPE, JSON.stringify(change(await answer())))
}

const wrongId = (answer) =>
  Array.isArray(answer) ? answer.map(wrongId) : { ...answer, id: `${answer.id}-not-asked-for` }

const refusal = (message) => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message } })

/** All faults by name, with the options each one takes in its rule. */
export const FAULTS = {
  // { code, message, data }
  rpcError: member((call, { code, message, data }) => ({
    jsonrpc: '2.0', id: call.id, error: data === undefined ? { code, message } : { code, message, data },
  })),
  // { result }
  result: member((call, { result }) => ({ jsonrpc: '2.0', id: call.id, result })),
  // { resultText }: the literal text, for numbers that JavaScript cannot write
  rawResult: exchange(({ calls, send }, { resultText }) =>
    send(200, JSON_TYPE, `{"jsonrpc":"2.0","id":${JSON.stringify(calls[0].id)},"result":${resultText}}`)),

  reset: exchange(({ drop }) => drop()),
  // The upstream has executed the call, the client never learns of it.
  resetAfterForward: exchange(async ({ answer, drop }) => {
    await answer()
    drop()
  }),
  hang: exchange(() => {}),
  hangBody: exchange(stallBody),
  // { delayMs }
  slow: exchange(async ({ pass }, { delayMs }) => {
    await delay(delayMs)
    await pass()
  }),

  // { status, headers, body }
  status: exchange(withStatus),
  // { retryAfter, body }
  rateLimited: exchange(rateLimited),
  html: exchange(({ send }) => send(200, { 'content-type': 'text/html' }, HTML)),
  empty: exchange(({ send }) => send(200, { ...JSON_TYPE, 'content-length': '0' }, '')),
  truncated: exchange(async (context) => context.send(200, JSON_TYPE, await half(context))),
  wrongId: exchange((context) => changeAnswer(context, wrongId)),

  // { status }
  batchRefused: exchange(({ send }, { status = 405 }) => send(status, {}, 'batches are not allowed'), true),
  batchErrorObject: exchange(({ send }) =>
    send(200, JSON_TYPE, JSON.stringify(refusal('batch requests are not supported'))), true),
  // { max }
  batchLimit: exchange(({ calls, pass, send }, { max }) =>
    calls.length > max
      ? send(200, JSON_TYPE, JSON.stringify(refusal(`batch size ${calls.length} exceeds the limit of ${max}`)))
      : pass(), true),
  // { missing }: positions that get no answer
  batchMissing: exchange((context, { missing }) =>
    changeAnswer(context, (answers) => answers.filter((_, position) => !missing.includes(position))), true),
  batchReversed: exchange((context) => changeAnswer(context, (answers) => answers.toReversed()), true),
  // { missing }: both at once
  batchMissingReversed: exchange((context, { missing }) =>
    changeAnswer(context, (answers) =>
      answers.filter((_, position) => !missing.includes(position)).toReversed()), true),
}

/** The faults that are switched on, in the order in which they were. */
export class FaultTable {
  #rules = []

  /** Switches a fault on, for all calls or only for `method`, for ever or only for `times` calls. */
  set(name, { method, times = Infinity, ...options } = {}) {
    if (!FAULTS[name]) throw new Error(`no fault is named ${name}; there are: ${Object.keys(FAULTS).join(', ')}`)
    this.#rules.push({ fault: FAULTS[name], method, left: times, options })
  }

  clear() {
    this.#rules = []
  }

  #take(matches) {
    const rule = this.#rules.find((candidate) => candidate.left > 0 && matches(candidate))
    if (rule) rule.left -= 1
    return rule
  }

  /** The fault for the whole exchange, if any: `(context) => …`. */
  exchange(calls, isBatch) {
    const rule = this.#take(({ fault, method }) =>
      fault.exchange &&
      (isBatch || !fault.onlyBatches) &&
      (method === undefined || calls.some((call) => call.method === method)))
    return rule && ((context) => rule.fault.exchange(context, rule.options))
  }

  /** The replaced answer to one call, if any. */
  member(call) {
    const rule = this.#take(({ fault, method }) =>
      fault.member && (method === undefined || call.method === method))
    return rule?.fault.member(call, rule.options)
  }
}
