// Installs the packed package in everything that is to work with it: node tests/packaging/run.mjs --help

import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CONSUMERS } from './consumers/index.mjs'
import { Scope } from './lib/scope.mjs'
import { tool } from './lib/tools.mjs'
import { openWorkshop } from './lib/workshop.mjs'

const HELP = `node tests/packaging/run.mjs [name…]   all consumers, or those whose names begin so
  --quick          only those that need no tools beyond the repository's own
  --list           print the names
  --browser NAME   what opens the pages: one of tests/support/browsers; default $BROWSER or chromium
  --keep           leave the projects, with the built pages, in the scratch folder`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    list: { type: 'boolean' },
    keep: { type: 'boolean' },
    help: { type: 'boolean' },
    browser: { type: 'string' },
  },
})

/** The consumers that were asked for. */
function chosen() {
  const known = CONSUMERS.filter(({ isQuick }) => isQuick || !values.quick)
  for (const word of positionals) {
    if (!known.some(({ name }) => name.startsWith(word))) throw new Error(`There is no consumer \`${word}\`. See --list.`)
  }
  return known.filter(({ name }) => positionals.length === 0 || positionals.some((word) => name.startsWith(word)))
}

async function main() {
  const consumers = chosen()
  if (!existsSync(tool('.package-lock.json')) && consumers.some(({ isQuick }) => !isQuick)) {
    throw new Error('The tools are not there. Run `npm ci` in tests/packaging, or use --quick.')
  }
  const scope = new Scope()
  // So that what ends with this process hears of it.
  process.once('SIGINT', () => process.exit(130))
  const rows = []
  const failures = []
  try {
    const workshop = await openWorkshop(scope, values)
    console.log(`${workshop.files.length} files, ${workshop.size} bytes packed, ${workshop.unpackedSize} unpacked: ${workshop.tarball}`)
    for (const consumer of consumers) {
      const startedAt = performance.now()
      const row = await workshop.run(consumer).then(
        (wasm) => ({ result: 'ok', wasm }),
        (error) => {
          failures.push(`${consumer.name}: ${error.message}`)
          return { result: 'FAILED', wasm: '' }
        },
      )
      rows.push({ name: consumer.name, seconds: ((performance.now() - startedAt) / 1000).toFixed(1), ...row })
      console.log(`${row.result} ${consumer.name}`)
    }
  } finally {
    await scope.end()
  }
  for (const failure of failures) console.log(`\n${failure}`)
  console.log('\n| consumer | result | seconds | wasm |\n|---|---|--:|---|')
  for (const { name, result, seconds, wasm } of rows) console.log(`| ${name} | ${result} | ${seconds} | ${wasm} |`)
  if (failures.length > 0) process.exitCode = 1
}

if (values.help) console.log(HELP)
else if (values.list) for (const { name, isQuick } of CONSUMERS) console.log(isQuick ? `${name} (quick)` : name)
else await main()
