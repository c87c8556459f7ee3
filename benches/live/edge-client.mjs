// Who calls the Workers: it looks at the beginning of an answer and counts the rest.

import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const agent = new Agent({ keepAlive: true })
const HEADERS = { 'content-type': 'application/json' }
const MIB = 1024 * 1024

const bodyOf = (method) => JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: [] })

function send(url, method) {
  return new Promise((resolve, reject) => {
    request(url, { agent, method: 'POST', headers: HEADERS }, resolve).once('error', reject).end(bodyOf(method))
  })
}

/** Sends one call and reads its answer; rejects unless that is a whole result. Answers with the time, in milliseconds. */
export async function ask(url, method) {
  const started = performance.now()
  const response = await send(url, method)
  let start = ''
  for await (const chunk of response) start ||= chunk.toString('latin1')
  checkResult(response, start)
  return performance.now() - started
}

/** The same, but slower than anybody sends: at `mibPerSecond`. Answers with the MiB that came. */
export async function askSlowly(url, method, mibPerSecond) {
  const response = await send(url, method)
  const started = performance.now()
  let start = ''
  let mib = 0
  for await (const chunk of response) {
    start ||= chunk.toString('latin1')
    mib += chunk.length / MIB
    const ahead = (mib / mibPerSecond) * 1000 - (performance.now() - started)
    if (ahead > 10) await pause(ahead)
  }
  checkResult(response, start)
  return mib
}

function checkResult({ statusCode, complete }, start) {
  const isResult = statusCode === 200 && complete && /^\{"jsonrpc":"2\.0","id":7,"result":/.test(start)
  const end = complete ? 'whole' : 'cut off'
  if (!isResult) throw new Error(`the answer is no result: status ${statusCode}, ${end}, ${start.slice(0, 200)}`)
}
