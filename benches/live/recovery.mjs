// A provider falls sick under steady load and gets well again: how long that is felt, and what is sent for nothing.

import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../support/stats.mjs'
import { behind, short, table } from '../support/table.mjs'
import { contenders, OWN, waypost, withFailover } from './contenders.mjs'

const FAULTS = {
  'Down: refuses connections': 'down',
  'Hangs: never answers': 'hanging',
  '429 with `Retry-After: 5`': 'throttled',
  '500 without JSON-RPC': 'failing',
  'Slow: answers after 1 s': 'slow',
  'A web page with status 200': 'page',
}
/** An order says nothing of time: who minds slow providers wants a strategy that looks at it. */
const TIMELY = 'Waypost, `adaptive`'
const clients = { ...contenders, [TIMELY]: waypost('adaptive') }
const names = [OWN, TIMELY, ...withFailover.filter((name) => name !== OWN)]
const rivals = withFailover.filter((name) => name !== OWN)

/** The one that falls sick is the first and the fastest, so that everybody prefers it. */
const DELAYS = [20, 30, 30]
const EVERY_MS = 50
/** Far above what a healthy provider takes, far below what a sick one costs. */
const HEALTHY_MS = 250
/** Calls in a row after which one speaks of health. */
const ROW = 20
/** Faults at the same time: their waits overlap, and the machine stays mostly idle. */
const TOGETHER = 3

/** Sends a call every 50 ms, whether or not those before were answered, as the users of a page do. */
function load(client) {
  const calls = []
  const timer = setInterval(() => {
    const call = { at: performance.now(), ms: Infinity, end: 'pending' }
    calls.push(call)
    const close = (end) => () => {
      Object.assign(call, { ms: performance.now() - call.at, end })
    }
    client.call().then(close('answered'), close('failed'))
  }, EVERY_MS)
  return { calls, stop: () => clearInterval(timer) }
}

const isHealthy = ({ ms, end }) => end === 'answered' && ms <= HEALTHY_MS

/** Seconds from the fault until calls are as before; infinite if that did not come while it lasted. */
function recovered(calls, from) {
  const bad = calls.findIndex((call) => !isHealthy(call))
  if (bad < 0) return 0
  const found = calls.findIndex((_, index) => index > bad && index + ROW <= calls.length && calls.slice(index, index + ROW).every(isHealthy))
  return found < 0 ? Infinity : (calls[found].at - from) / 1000
}

/** One client with providers of its own, before, during and after the fault. */
async function course({ host, name, fault, seconds }) {
  const [first, ...others] = await Promise.all(DELAYS.map((delayMs) => host.start('good', delayMs)))
  const client = clients[name]([first, ...others].map(({ url }) => url), { isInOrder: true })
  const { calls, stop } = load(client)
  await sleep(seconds.before * 1000)
  await first.turn(fault)
  const sickFrom = performance.now()
  await sleep(seconds.sick * 1000)
  const wellFrom = performance.now()
  const sick = await first.turn('good')
  await sleep(seconds.after * 1000)
  stop()
  // What is still under way may end; what never does counts as failed.
  await sleep(HEALTHY_MS * 2)
  const after = await first.turn('good')
  client.close()
  const during = calls.filter(({ at }) => at >= sickFrom && at < wellFrom)
  const answered = during.filter(({ end }) => end === 'answered')
  const share = (count) => (100 * count) / during.length
  return {
    recovery: recovered(during, sickFrom),
    slow: share(answered.filter((call) => !isHealthy(call)).length),
    failed: share(during.length - answered.length),
    wasted: share(sick.hits),
    again: after.firstCallMs === undefined ? Infinity : after.firstCallMs / 1000,
    after: (100 * after.hits) / calls.filter(({ at }) => at >= wellFrom).length,
  }
}

export async function recovery({ host, isQuick }) {
  const seconds = isQuick ? { before: 2, sick: 4, after: 3 } : { before: 5, sick: 20, after: 60 }
  const rounds = isQuick ? 1 : 3
  const runs = {}
  for (let round = 0; round < rounds; round += 1) {
    const titles = Object.keys(FAULTS)
    for (let at = 0; at < titles.length; at += TOGETHER) {
      const pairs = titles.slice(at, at + TOGETHER).flatMap((title) => names.map((name) => ({ title, name })))
      const measured = await Promise.all(pairs.map(({ title, name }) => course({ host, name, fault: FAULTS[title], seconds })))
      pairs.forEach(({ title, name }, index) => ((runs[title] ??= {})[name] ??= []).push(measured[index]))
    }
  }
  return { recovery: Object.entries(runs).map(([title, byName]) => part(title, byName, seconds)).join('\n\n') }
}

function part(title, byName, seconds) {
  const typical = (name, column) => median(byName[name].map((run) => run[column]))
  const lasting = (value, most) => (value === Infinity ? `> ${most}` : short(value))
  const head = [
    'client',
    'healthy again after, s',
    'slow calls, %',
    'failed calls, %',
    'requests to the sick one per 100 calls',
    'well again: asked after, s',
    'requests to it per 100 calls',
  ]
  const rows = names.map((name) => [
    name,
    lasting(typical(name, 'recovery'), seconds.sick),
    ...['slow', 'failed', 'wasted'].map((column) => short(typical(name, column))),
    lasting(typical(name, 'again'), seconds.after),
    short(typical(name, 'after')),
  ])
  // A call more or less is nothing to compare, and what did not come while the fault lasted has no ratio.
  const remark = (what, column, [least, most]) => {
    const comparable = (name) => Math.min(most, Math.max(least, typical(name, column)))
    return `- ${behind(what, comparable(OWN), rivals.map((name) => [name, comparable(name)]))}`
  }
  const remarks = [
    remark('Time to recover', 'recovery', [EVERY_MS / 1000, seconds.sick]),
    remark('Requests to the sick one', 'wasted', [EVERY_MS / seconds.sick / 10, Infinity]),
  ]
  return [`**${title}**`, '', table(head, rows), '', ...remarks].join('\n')
}
