// CPU time and memory per call with a `fetch` that answers at once, in the same thread, without a network.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { against, interleave, median } from '../support/stats.mjs'
import { behind, short, table, times } from '../support/table.mjs'
import { BASE, contenders, OWN } from './contenders.mjs'

const NAMES = [BASE, OWN, 'viem http', 'viem fallback', 'fetch + cockatiel']
const URLS = ['a', 'b', 'c'].map((host) => `https://${host}.example/`)
const BATCH = 200

const textFor = (body) => `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(body)[1]},"result":"0x64"}`

/** Only what the clients read: what is left is their own cost. */
class PlainResponse {
  status = 200
  ok = true
  body = null
  headers = { get: (name) => (name.toLowerCase() === 'content-type' ? 'application/json' : null) }
  #text

  constructor(text) {
    this.#text = text
  }

  async text() {
    return this.#text
  }

  async json() {
    return JSON.parse(this.#text)
  }
}

const STUBS = {
  plain: async (_url, { body }) => new PlainResponse(textFor(body)),
  real: async (_url, { body }) => new Response(textFor(body), { headers: { 'content-type': 'application/json' } }),
}

/** Clients that all answer from a stub. */
export const stubbed = (stub) =>
  Object.fromEntries(NAMES.map((name) => [name, contenders[name](URLS, { send: STUBS[stub] })]))

export async function repeat(client, calls) {
  for (let count = 0; count < calls; count += 1) await client.call()
}

/** CPU time, collector included: what others do on the machine does not count. */
async function microsPerCall(client) {
  const before = process.cpuUsage()
  await repeat(client, BATCH)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / BATCH
}

/** Heap use in a process of its own, so that nobody else's garbage is in it. */
function heapOf(name, isWithoutCollection) {
  const execArgv = ['--expose-gc', ...(isWithoutCollection ? ['--max-semi-space-size=512', '--min-semi-space-size=512'] : [])]
  const child = fork(fileURLToPath(new URL('heap.mjs', import.meta.url)), [name], { execArgv })
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`the heap of ${name} was not measured: exit code ${code}`)))
  })
}

export async function stub({ isQuick }) {
  const rounds = isQuick ? 20 : 100
  const micros = {}
  for (const kind of Object.keys(STUBS)) {
    const clients = stubbed(kind)
    for (const name of NAMES) await repeat(clients[name], 3000)
    micros[kind] = await interleave(NAMES, rounds, (name) => microsPerCall(clients[name]))
  }
  const rows = []
  for (const name of NAMES) {
    const { bytesPerCall } = await heapOf(name, true)
    const { peak } = await heapOf(name, false)
    const plain = against(micros.plain[BASE], micros.plain[name])
    const real = against(micros.real[BASE], micros.real[name])
    rows.push({ name, plain, real, bytesPerCall, peak })
  }
  return { stub: stubTable(rows) }
}

function stubTable(rows) {
  const own = rows.find(({ name }) => name === OWN)
  const base = rows.find(({ name }) => name === BASE)
  const others = rows.filter((row) => row !== own && row !== base)
  const cells = rows.map((row) => [
    row.name,
    row === base ? '' : times(row.plain.over / own.plain.over),
    row === base ? '' : short(row.plain.over),
    row === base ? '' : short(row.real.over),
    times(row.real.ratio),
    short(row.bytesPerCall / 1024),
    short(row.peak / 1024 / 1024),
  ])
  return [
    table(
      [
        'client',
        'own CPU, Waypost = 1',
        'own CPU, µs',
        'with a real `Response`, µs',
        'the same, bare fetch = 1',
        'KiB allocated per call',
        'MiB peak heap in 10,000 calls',
      ],
      cells,
    ),
    '',
    `- ${behind('CPU per call', own.plain.over, others.map(({ name, plain }) => [name, plain.over]))}`,
    `- ${behind('CPU per call with a real `Response`', own.real.over, others.map(({ name, real }) => [name, real.over]))}`,
    `- ${behind('Allocation', own.bytesPerCall, others.map(({ name, bytesPerCall }) => [name, bytesPerCall]))}`,
  ].join('\n')
}
