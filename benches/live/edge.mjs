// The handler in the Workers runtime, beside Workers that only pass on what one provider says: time, throughput, memory.

import { setTimeout as pause } from 'node:timers/promises'
import { against, interleave, median } from '../support/stats.mjs'
import { behind, short, table, times } from '../support/table.mjs'
import { startProcess } from './content-process.mjs'
import { ask, askSlowly } from './edge-client.mjs'
import { startWorkers } from './edge-workers.mjs'

const BASE = 'bare proxy'
const PARSING = 'parsing proxy'
const OWN = 'Waypost'
const PATH = '/rpc/ethereum'
/** Which Worker serves what is compared, and at which path. */
const WAYS = {
  [BASE]: { worker: 'bare', path: '/' },
  [PARSING]: { worker: 'parsing', path: '/' },
  [OWN]: { worker: 'waypost', path: PATH },
  'Waypost, `include_meta=body`': { worker: 'waypost', path: `${PATH}?include_meta=body` },
}
const ALL = Object.keys(WAYS)
/** Metadata is a few hundred bytes at the end, which changes nothing in a long answer. */
const WITHOUT_META = ALL.slice(0, 3)

/** Calls in a turn, and how often everybody has one, for each number in flight. */
const SMALL = { names: ALL, method: 'eth_blockNumber', warm: 1000, loads: { 1: [100, 20], 10: [200, 10], 100: [400, 8] } }
const LARGE = { names: WITHOUT_META, method: 'eth_getLogs', warm: 10, loads: { 1: [2, 16], 10: [10, 4], 100: [100, 1] } }
/** By how much there is less to do with `--quick`; what is left of one turn is none. */
const QUICK = 8
/** What Cloudflare allows an isolate, in MiB. The runtime on its own sets no limit. */
const ALLOWED = 128

const quantile = (numbers, share) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * share)]

/** Calls by so many at once: how long each took, how many there were in a second, and what they cost the runtime. */
async function turn({ urls, runtime }, name, method, inFlight, calls) {
  const { worker, path } = WAYS[name]
  const taken = []
  let left = calls
  const caller = async () => {
    while ((left -= 1) >= 0) taken.push((await ask(urls[worker] + path, method)) * 1000)
  }
  const before = await runtime.cpu()
  const started = performance.now()
  await Promise.all(Array.from({ length: inFlight }, caller))
  const perSecond = (calls * 1000) / (performance.now() - started)
  return { taken, perSecond, cpu: ((await runtime.cpu()) - before) / calls }
}

async function loaded(workers, { names, method, warm, loads }, isQuick) {
  const less = (count) => Math.floor(isQuick ? count / QUICK : count)
  for (const name of names) await turn(workers, name, method, 10, less(warm))
  const turns = {}
  for (const [inFlight, [calls, rounds]] of Object.entries(loads)) {
    if (less(rounds) === 0) continue
    turns[inFlight] = await interleave(names, less(rounds), (name) => turn(workers, name, method, Number(inFlight), calls))
  }
  return [timeTable(names, turns[1]), '', throughputTable(names, turns), '', ...remarks(turns)].join('\n')
}

function timeTable(names, turns) {
  const of = (name, read) => turns[name].map(read)
  const compared = (name, read) => against(of(BASE, read), of(name, read))
  const middle = ({ taken }) => median(taken)
  const late = (name) => quantile(turns[name].flatMap(({ taken }) => taken), 0.95)
  const cpu = (turn) => turn.cpu
  const rows = names.map((name) => [
    name,
    times(compared(name, middle).ratio),
    ...(name === BASE ? ['', ''] : [short(compared(name, middle).over), short(late(name) - late(BASE))]),
    short(median(of(name, middle))),
    short(late(name)),
    times(compared(name, cpu).ratio),
    short(median(of(name, cpu))),
  ])
  const head = [
    'one call at a time',
    'time, bare proxy = 1',
    'added, µs',
    'added at the 95th percentile, µs',
    'whole call, µs',
    '95th percentile, µs',
    'CPU of the runtime, bare proxy = 1',
    'µs',
  ]
  return table(head, rows)
}

function throughputTable(names, turns) {
  const counts = Object.keys(turns)
  const perSecond = (count, name) => turns[count][name].map((each) => each.perSecond)
  const rows = names.map((name) => [
    name,
    ...counts.map((count) => times(against(perSecond(count, BASE), perSecond(count, name)).ratio)),
    ...counts.map((count) => short(median(perSecond(count, name)))),
  ])
  const heads = [...counts.map((count) => `${count} in flight, bare proxy = 1`), ...counts.map((count) => `${count}: calls/s`)]
  return table(['several at a time', ...heads], rows)
}

/** Beside the Worker that parses: the bare one is what both are measured by. */
function remarks(turns) {
  const ratio = (count, name, read) => against(turns[count][BASE].map(read), turns[count][name].map(read)).ratio
  const said = (what, count, read) => `- ${behind(what, ratio(count, OWN, read), [[PARSING, ratio(count, PARSING, read)]])}`
  const inFlight = Object.keys(turns).map((count) => said(`${count} in flight`, count, ({ perSecond }) => 1 / perSecond))
  const middle = ({ taken }) => median(taken)
  const calm = turns[1][BASE].map(middle)
  const [from, to] = [0.25, 0.75].map((share) => short(quantile(calm, share)))
  const noise = `- Noise: a call of the bare proxy took ${from} to ${to} µs in the middle half of its turns.`
  return [noise, said('Time', 1, middle), said('CPU', 1, ({ cpu }) => cpu), ...inFlight]
}

/** Resident memory of a runtime with this Worker alone, while somebody reads 100 MiB slowly. */
async function streamed(name, upstream, isQuick) {
  const { worker, path } = WAYS[name]
  const { urls, runtime, stop } = await startWorkers([worker], upstream)
  const url = urls[worker] + path
  for (let count = 0; count < 200; count += 1) await ask(url, SMALL.method)
  const before = await runtime.resident()
  await runtime.forgetPeak()
  const outcome = await askSlowly(url, 'debug_traceBlockByNumber', isQuick ? 100 : 25).then(() => 'whole', () => 'failed')
  const peak = await runtime.peak()
  await pause(1000)
  const after = await runtime.resident()
  await stop()
  return { name, before, peak, added: peak - before, after, outcome }
}

async function memory(upstream, isQuick) {
  const all = []
  for (const name of WITHOUT_META) all.push(await streamed(name, upstream, isQuick))
  const rows = all.map(({ name, before, peak, added, after, outcome }) => {
    return [name, ...[before, peak, added, after].map(short), outcome]
  })
  const tooMuch = all.filter(({ added }) => added > ALLOWED).map(({ name }) => name).join(', ') || 'nobody'
  const head = ['100 MiB, a slow reader', 'MiB before', 'most', 'added', 'MiB a second after', 'the answer']
  return [table(head, rows), '', `- Added more than the ${ALLOWED} MiB that Cloudflare allows: ${tooMuch}.`].join('\n')
}

/** Needs Linux, which tells what another process uses. */
export async function edge({ isQuick }) {
  if (process.platform !== 'linux') {
    console.error('The Workers runtime is measured by /proc, which only Linux has: edge is left out.')
    return {}
  }
  const server = startProcess('edge-upstream.mjs')
  const upstream = `http://127.0.0.1:${await server.ask('listen')}/`
  const workers = await startWorkers(['bare', 'parsing', 'waypost'], upstream)
  const sections = { edgeSmall: await loaded(workers, SMALL, isQuick), edgeLarge: await loaded(workers, LARGE, isQuick) }
  await workers.stop()
  sections.edgeMemory = await memory(upstream, isQuick)
  server.stop()
  return sections
}
