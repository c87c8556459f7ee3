// The first of three providers is dead, hangs or answers 429: time to the first answer, and what is learnt.

import { createServer } from 'node:net'
import { median } from '../support/stats.mjs'
import { short, table } from '../support/table.mjs'
import { contenders, withFailover } from './contenders.mjs'
import { refusedAt } from './refusals.mjs'

/** Nobody waits longer for one call, or for a series of ten. */
const CALL_CAP = 12_000
const SERIES_CAP = 24_000
const CALLS = 10

/** A URL that refuses connections, and how many it has refused. */
async function deadProvider() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return { url: `http://127.0.0.1:${port}/`, hits: async () => refusedAt(port) }
}

/** Milliseconds until the answer, or `undefined` if there is none in time. */
async function timed(client, cap) {
  let timer
  const giveUp = new Promise((resolve) => {
    timer = setTimeout(resolve, cap)
  })
  const started = performance.now()
  const isAnswered = await Promise.race([client.call().then(() => true, () => 'failed'), giveUp])
  clearTimeout(timer)
  return { ms: performance.now() - started, end: isAnswered ?? 'capped' }
}

async function series(name, bad, good) {
  const client = contenders[name]([bad, ...good].map(({ url }) => url), { isInOrder: true })
  const started = performance.now()
  const calls = []
  while (calls.length < CALLS && performance.now() - started < SERIES_CAP) {
    calls.push(await timed(client, CALL_CAP))
  }
  client.close()
  return { calls, hits: await bad.hits() }
}

const shown = ({ ms, end }) =>
  end === 'capped' ? `> ${CALL_CAP / 1000} s` : `${end === 'failed' ? 'failed after ' : ''}${ms < 1000 ? `${short(ms)} ms` : `${short(ms / 1000)} s`}`

function middle(calls) {
  const sorted = [...calls].sort((a, b) => a.ms - b.ms)
  return sorted[sorted.length >> 1]
}

function row(name, runs) {
  const [first, later] = [middle(runs.map(({ calls }) => calls[0])), runs.flatMap(({ calls }) => calls.slice(1))]
  const made = Math.min(...runs.map(({ calls }) => calls.length))
  const answered = runs.flatMap(({ calls }) => calls).filter(({ end }) => end === true).length
  const total = runs.reduce((sum, { calls }) => sum + calls.length, 0)
  return [
    name,
    shown(first),
    later.length === 0 ? '–' : shown(middle(later)),
    `${median(runs.map(({ hits }) => hits))} in ${made} calls`,
    `${answered} of ${total}`,
  ]
}

const HEAD = ['client', 'first call', 'later calls', 'requests to the bad one', 'answered']

export async function failover({ host, isQuick }) {
  const repeats = isQuick ? 3 : 7
  const good = await Promise.all([1, 2].map(() => host.start('good')))
  const scenarios = {
    'Connection refused': { start: deadProvider, repeats },
    '429 with `Retry-After: 60`': { start: () => host.start('limited'), repeats },
    'Hangs: never answers': { start: () => host.start('hanging'), repeats: 1 },
  }
  const parts = []
  for (const [title, { start, repeats: count }] of Object.entries(scenarios)) {
    const runs = Object.fromEntries(withFailover.map((name) => [name, []]))
    for (let round = 0; round < count; round += 1) {
      // Side by side: what is measured are waits, and one after the other they would take minutes.
      const bads = await Promise.all(withFailover.map(start))
      const done = await Promise.all(withFailover.map((name, index) => series(name, bads[index], good)))
      done.forEach((run, index) => runs[withFailover[index]].push(run))
    }
    parts.push(`**${title}**`, '', table(HEAD, withFailover.map((name) => row(name, runs[name]))), '')
  }
  return { failover: parts.join('\n').trimEnd() }
}
