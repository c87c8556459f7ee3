// Memory of 100,000 calls over loopback, each client in a process of its own: what is kept, and what is allocated.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { behind, short, table, times } from '../support/table.mjs'
import { BASE, contenders, OWN } from './contenders.mjs'

const CHILD = fileURLToPath(new URL('memory-process.mjs', import.meta.url))
/** MiB of the young generation: what is counted call by call must not be collected in between. */
const YOUNG = 128

function measure(how, name, calls, urls) {
  const young = how === 'allocated' ? [`--min-semi-space-size=${YOUNG}`, `--max-semi-space-size=${YOUNG}`] : []
  const child = fork(CHILD, [how, name, String(calls), ...urls], { execArgv: ['--expose-gc', ...young] })
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`the memory of ${name} was not measured: exit code ${code}`)))
  })
}

export async function memory({ host, isQuick }) {
  const servers = await Promise.all([1, 2, 3].map(() => host.start('good')))
  const urls = servers.map(({ url }) => url)
  const calls = isQuick ? 5000 : 100_000
  const rows = []
  for (const name of Object.keys(contenders)) {
    const { bytesPerCall } = await measure('allocated', name, isQuick ? 1000 : 5000, urls)
    rows.push({ name, bytesPerCall, ...(await measure('kept', name, calls, urls)) })
  }
  return { memory: memoryTable(rows) }
}

function memoryTable(rows) {
  const base = rows.find(({ name }) => name === BASE)
  const own = rows.find(({ name }) => name === OWN)
  const others = rows.filter((row) => row !== own && row !== base)
  const head = [
    'client',
    'allocated per call, bare fetch = 1',
    'KiB',
    'heap kept, KiB',
    'heap at most, MiB',
    'resident memory, MiB more',
  ]
  const cells = rows.map(({ name, bytesPerCall, kept, peak, resident }) => [
    name,
    times(bytesPerCall / base.bytesPerCall),
    short(bytesPerCall / 1024),
    short(kept / 1024),
    short(peak / 2 ** 20),
    short(resident / 2 ** 20),
  ])
  const remark = (what, key) => `- ${behind(what, own[key], others.map((row) => [row.name, row[key]]))}`
  return [table(head, cells), '', remark('Allocation', 'bytesPerCall'), remark('Heap at most', 'peak')].join('\n')
}
