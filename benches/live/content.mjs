// Routing of content beside @ar.io/wayfinder-core: probes, the race for the fastest gateway, failover, own cost.

import { setTimeout as pause } from 'node:timers/promises'
import { against, interleave, median } from '../support/stats.mjs'
import { behind, short, table, times } from '../support/table.mjs'
import { BASE, OWN } from './contenders.mjs'
import { startProcess } from './content-process.mjs'
import { costTable } from './overhead.mjs'

const MODEL = '@ar.io/wayfinder-core'
const PACKAGES = { [BASE]: BASE, [OWN]: 'waypost', [MODEL]: MODEL }
const RIVALS = [OWN, MODEL]

const KINDS = [
  'FastestPing',
  'SimpleCache(FastestPing)',
  'Ping(Random)',
  'Random',
  'Fastest',
  'createWayfinderClient()',
  'new Wayfinder()',
]
/** Strategies that only Waypost has. */
const OWN_KINDS = ['Fastest']

const DEAD = { isDead: true }
const BROKEN = { status: 503 }
const urlsOf = (ports) => ports.map((port) => `http://127.0.0.1:${port}`)
const isServed = ({ port }) => port !== undefined
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length

/** Eight of ten are well. */
async function heads({ server, clients }) {
  const requests = 100
  const perServed = (sentHeads, sentGets, failed) => (sentHeads + sentGets) / (requests - failed)
  const ports = await server.ask('listen', [...[2, 4, 6, 8, 10, 12, 14, 16].map((delayMs) => ({ delayMs })), DEAD, BROKEN])
  const cells = async (name, kind) => {
    if (name !== OWN && OWN_KINDS.includes(kind)) return ['–', '–', '–']
    const { taken } = await clients[name].ask('serve', { kind, urls: urlsOf(ports), requests })
    const { HEAD, GET } = await server.ask('count', ports)
    return [HEAD, GET, requests - taken.filter(isServed).length]
  }
  const rows = []
  const costs = []
  for (const kind of KINDS) {
    const [own, model] = [await cells(OWN, kind), await cells(MODEL, kind)]
    rows.push([`\`${kind}\``, ...own, ...model])
    costs.push([`${MODEL} with \`${kind}\``, perServed(...model) / perServed(...own)])
  }
  const head = ['routing', ...RIVALS.flatMap((name) => [`${name}: HEAD`, 'GET', 'failed'])]
  return [table(head, rows), '', `- ${behind('HEAD and GET for every request that was served', 1, costs)}`].join('\n')
}

async function fastestLast({ server, clients, isQuick }) {
  const rounds = isQuick ? 5 : 40
  const slow = Array.from({ length: 79 }, (_, place) => ({ delayMs: 60 + ((place * 37) % 61), isKeptAlive: false }))
  const ports = await server.ask('listen', [...slow, { delayMs: 5, isKeptAlive: false }])
  const fast = ports.at(-1)
  // In the first round everybody still compiles.
  const runs = await interleave(Object.keys(PACKAGES), rounds + 1, async (name) => {
    const urls = urlsOf(name === BASE ? [fast] : ports)
    const { taken } = await clients[name].ask('serve', { kind: 'SimpleCache(FastestPing)', urls, requests: 2 })
    // Probes that lost go on where nobody stops them, and would slow the next client down.
    await pause(250)
    return { taken, probes: (await server.ask('count', ports)).HEAD }
  })
  const msOf = (name, turn) => runs[name].slice(1).map(({ taken }) => taken[turn].ms)
  const ratio = (name, turn) => against(msOf(OWN, turn), msOf(name, turn)).ratio
  const rows = [OWN, MODEL, BASE].map((name) => [
    name === BASE ? 'bare fetch from the fast one' : name,
    `${runs[name].slice(1).filter(({ taken: [{ port }] }) => port === fast).length} of ${rounds}`,
    median(runs[name].slice(1).map(({ probes }) => probes)),
    ...[0, 1].flatMap((turn) => [times(ratio(name, turn)), short(median(msOf(name, turn)))]),
  ])
  const head = ['client', 'found the fast one', 'HEADs', 'first request, Waypost = 1', 'ms', 'the next one, Waypost = 1', 'ms']
  const remarks = ['first request', 'next one'].map((what, turn) => `- ${behind(`Time of the ${what}`, 1, [[MODEL, ratio(MODEL, turn)]])}`)
  return [table(head, rows), '', ...remarks].join('\n')
}

async function failover({ server, clients, isQuick }) {
  const requests = 200
  const rounds = isQuick ? 1 : 5
  const good = { delayMs: 10 }
  const rows = []
  const remarks = []
  for (const kind of ['Random', 'Ping(Random)']) {
    const ports = await server.ask('listen', [DEAD, BROKEN, good, good, good])
    const hits = Object.fromEntries(RIVALS.map((name) => [name, []]))
    const runs = await interleave(RIVALS, rounds, async (name) => {
      const { taken } = await clients[name].ask('serve', { kind, urls: urlsOf(ports), requests })
      const { HEAD, GET } = await server.ask('count', [ports[1]])
      hits[name].push(HEAD + GET)
      return taken
    })
    const all = (name) => runs[name].flat()
    const typical = (name) => mean(all(name).filter(isServed).map(({ ms }) => ms))
    for (const name of RIVALS) {
      const share = (100 * all(name).filter(isServed).length) / all(name).length
      rows.push([
        `\`${kind}\`, ${name}`,
        `${short(share)} %`,
        times(typical(name) / typical(OWN)),
        short(typical(name)),
        short(Math.max(...all(name).map(({ ms }) => ms))),
        median(hits[name]),
      ])
    }
    remarks.push(`- ${behind(`Time of what was served with \`${kind}\``, typical(OWN), [[MODEL, typical(MODEL)]])}`)
  }
  const head = ['client', 'served', 'mean time of those, Waypost = 1', 'mean, ms', 'longest of all, ms', 'requests to the 503 one in 200']
  return [table(head, rows), '', ...remarks].join('\n')
}

async function overhead({ server, clients, isQuick }) {
  const ports = await server.ask('listen', [{}])
  const urls = urlsOf(ports)
  const names = Object.keys(PACKAGES)
  for (const name of names) await clients[name].ask('serve', { kind: 'Static', urls, requests: isQuick ? 200 : 3000 })
  const costs = await interleave(names, isQuick ? 20 : 100, async (name) => {
    const { taken, cpu } = await clients[name].ask('serve', { kind: 'Static', urls, requests: 20, isKept: true })
    return { wall: median(taken.map(({ ms }) => ms * 1000)), cpu }
  })
  return costTable(names, costs)
}

// The cost comes first, so that all have done equally much when it is measured.
const SECTIONS = { contentOverhead: overhead, contentHeads: heads, contentFastestLast: fastestLast, contentFailover: failover }

export async function content({ isQuick }) {
  const server = startProcess('content-server.mjs')
  const clients = Object.fromEntries(Object.entries(PACKAGES).map(([name, module]) => [name, startProcess('content-client.mjs', [module])]))
  const sections = {}
  for (const [section, measure] of Object.entries(SECTIONS)) sections[section] = await measure({ server, clients, isQuick })
  for (const { stop } of [server, ...Object.values(clients)]) stop()
  return sections
}
