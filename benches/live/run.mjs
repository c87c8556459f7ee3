// Waypost beside bare fetch, viem, ethers and cockatiel, in one process against providers on loopback, and beside
// @ar.io/wayfinder-core, in a process each; the handler beside bare proxies in the Workers runtime.
//
//   node benches/live/run.mjs            prints all tables
//   node benches/live/run.mjs --quick    fewer rounds
//   node benches/live/run.mjs --write    puts them into BENCHMARKS.md, with criterion's numbers if there are any
//   node benches/live/run.mjs stub sizes only these parts; with --write the rest of BENCHMARKS.md stays

import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { curves } from '../curves/curves.mjs'
import { criterion } from '../support/criterion.mjs'
import { writeSections } from '../support/table.mjs'
import { content } from './content.mjs'
import { edge } from './edge.mjs'
import { failover } from './failover.mjs'
import { memory } from './memory.mjs'
import { overhead } from './overhead.mjs'
import { recovery } from './recovery.mjs'
import { startHost } from './server.mjs'
import { simulator } from './simulator.mjs'
import { sizes } from './sizes.mjs'
import { stub } from './stub.mjs'

const REPORT = new URL('../../BENCHMARKS.md', import.meta.url)
const PARTS = { simulator, sizes, stub, overhead, memory, failover, recovery, content, edge, curves, criterion }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, write: { type: 'boolean' } },
})

function chosen() {
  const unknown = positionals.find((name) => !(name in PARTS))
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}; there are ${Object.keys(PARTS).join(', ')}`)
  if (values.quick && values.write) throw new Error('--quick is too coarse to be written down; leave one of them out')
  return positionals.length > 0 ? positionals : Object.keys(PARTS)
}

async function machine() {
  const { devDependencies } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  const rivals = ['viem', 'ethers', 'cockatiel', '@ar.io/wayfinder-core', 'miniflare'].map((name) => `${name} ${devDependencies[name]}`)
  const { arch, platform, versions } = process
  return [
    `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores (${arch}, ${platform}), Node ${versions.node};`,
    `${rivals.join(', ')}.`,
  ].join('\n')
}

const host = startHost()
const sections = {}
for (const name of chosen()) {
  const measured = await PARTS[name]({ host, isQuick: values.quick === true, isWritten: values.write === true })
  if (measured === undefined) console.error('No numbers of criterion are there; cargo bench makes them.')
  for (const [section, text] of Object.entries(measured ?? {})) {
    sections[section] = text
    console.log(`\n## ${section}\n\n${text}`)
  }
}
if (values.write) await writeSections(REPORT, { machine: await machine(), ...sections })
host.stop()
// ethers keeps timers and sockets that nothing stops.
process.exit()
