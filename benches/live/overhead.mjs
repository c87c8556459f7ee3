// Cost per call over loopback: latency and CPU time one by one, and throughput with several calls under way.

import { against, interleave, median } from '../support/stats.mjs'
import { behind, short, table, times } from '../support/table.mjs'
import { BASE, contenders, OWN } from './contenders.mjs'

const IN_FLIGHT = [1, 10, 100]
/** Calls before the next client has its turn: few, so that a slow moment of the machine hits all alike. */
const TURN = 20

/** Wall-clock and CPU time of one call, in microseconds. */
async function oneByOne(client) {
  const taken = []
  const before = process.cpuUsage()
  for (let count = 0; count < TURN; count += 1) {
    const started = performance.now()
    await client.call()
    taken.push((performance.now() - started) * 1000)
  }
  const { user, system } = process.cpuUsage(before)
  return { wall: median(taken), cpu: (user + system) / TURN }
}

async function perSecond(client, inFlight, calls) {
  let left = calls
  const worker = async () => {
    while ((left -= 1) >= 0) await client.call()
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: inFlight }, worker))
  return calls / ((performance.now() - started) / 1000)
}

export async function overhead({ host, isQuick }) {
  const servers = await Promise.all([1, 2, 3].map(() => host.start('good')))
  const urls = servers.map(({ url }) => url)
  const names = Object.keys(contenders)
  const clients = Object.fromEntries(names.map((name) => [name, contenders[name](urls)]))
  for (const name of names) await perSecond(clients[name], 10, isQuick ? 200 : 1000)

  const costs = await interleave(names, isQuick ? 20 : 100, (name) => oneByOne(clients[name]))
  const throughput = {}
  for (const inFlight of IN_FLIGHT) {
    const calls = Math.max(TURN, inFlight * 3)
    const rounds = (isQuick ? 10 : 40) / (inFlight === 100 ? 2 : 1)
    throughput[inFlight] = await interleave(names, rounds, (name) => perSecond(clients[name], inFlight, calls))
  }
  for (const client of Object.values(clients)) client.close()
  return { overhead: costTable(names, costs), throughput: throughputTable(names, throughput) }
}

const othersOf = (names) => names.filter((name) => name !== OWN && name !== BASE)

export function costTable(names, costs) {
  const column = (kind) => {
    const of = (name) => costs[name].map((cost) => cost[kind])
    return Object.fromEntries(names.map((name) => [name, { ...against(of(BASE), of(name)), typical: median(of(name)) }]))
  }
  const [wall, cpu] = [column('wall'), column('cpu')]
  const cells = ({ over, ratio, typical }, isBase) => [times(ratio), isBase ? '' : short(over), short(typical)]
  const rows = names.map((name) => [name, ...cells(wall[name], name === BASE), ...cells(cpu[name], name === BASE)])
  const head = [
    'client',
    'time, bare fetch = 1',
    'over bare fetch, µs',
    'whole call, µs',
    'client CPU, bare fetch = 1',
    'over bare fetch, µs',
    'whole call, µs',
  ]
  const rivals = (kind) => othersOf(names).map((name) => [name, kind[name].ratio])
  return [
    table(head, rows),
    '',
    `- ${behind('Time per call', wall[OWN].ratio, rivals(wall))}`,
    `- ${behind('Client CPU per call', cpu[OWN].ratio, rivals(cpu))}`,
  ].join('\n')
}

function throughputTable(names, throughput) {
  const ratio = (n, name) => against(throughput[n][BASE], throughput[n][name]).ratio
  const rows = names.map((name) => [
    name,
    ...IN_FLIGHT.map((n) => times(ratio(n, name))),
    ...IN_FLIGHT.map((n) => String(Math.round(median(throughput[n][name])))),
  ])
  const remarks = IN_FLIGHT.map((n) => {
    const rivals = othersOf(names).map((name) => [name, 1 / ratio(n, name)])
    return `- ${behind(`${n} in flight`, 1 / ratio(n, OWN), rivals)}`
  })
  const head = ['client', ...IN_FLIGHT.map((n) => `${n} in flight, bare fetch = 1`), ...IN_FLIGHT.map((n) => `${n}: calls/s`)]
  return [table(head, rows), '', ...remarks].join('\n')
}
