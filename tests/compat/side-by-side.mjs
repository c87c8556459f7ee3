/** Compares the package with the one that it stands in for; `cargo xtask compat` installs both. */

import { Worker } from 'node:worker_threads'
import { plugged } from './plugged.mjs'
import { scenarios } from './scenarios/index.mjs'

const THEIRS = '@ar.io/wayfinder-core'
const OURS = 'waypost'

/** The outcomes of all scenarios with one package. */
function outcomes(name) {
  console.log(`running ${scenarios.length} scenarios with ${name}`)
  return new Promise((resolve, reject) => {
    const told = []
    const worker = new Worker(new URL('./run-scenarios.mjs', import.meta.url), { workerData: name })
    worker.on('message', (outcome) => told.push(outcome))
    worker.once('error', reject)
    worker.once('exit', () => {
      if (told.length === scenarios.length) resolve(told)
      else reject(new Error(`${name}: the scenarios ended after ${told.length} of ${scenarios.length}`))
    })
  })
}

function table(columns, rows) {
  const cell = (text) => String(text).replaceAll('|', '\\|')
  const lines = [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`)
  console.log(`${lines.join('\n')}\n`)
}

const theirs = await outcomes(THEIRS)
const ours = await outcomes(OURS)
console.log()
const rows = scenarios.map(({ name, right, why }, index) => {
  const isSame = theirs[index] === ours[index]
  const isRight = ours[index] === right && (isSame || why !== undefined)
  const verdict = isRight ? (isSame ? 'both' : `${OURS}: ${why}`) : `FAILED, right is: ${right}`
  return { isSame, isRight, cells: [name, theirs[index], ours[index], isSame ? 'same' : 'differs', verdict] }
})
table(['scenario', THEIRS, OURS, 'same?', 'which is right and why'], rows.map(({ cells }) => cells))

const plugs = await plugged(THEIRS, OURS)
table(['plugged in', 'into', 'request', 'resolveUrl'], plugs.map(({ cells }) => cells))

const failures = [...rows.filter(({ isRight }) => !isRight), ...plugs.filter(({ isGood }) => !isGood)]
for (const { cells } of failures) console.log(`FAILED ${cells.join(' | ')}`)
const agreeing = rows.filter(({ isSame }) => isSame).length
console.log(
  `${rows.length} scenarios: ${agreeing} the same, ${rows.length - agreeing} differ; ` +
    `${plugs.length} trials of plugged-in classes; ${failures.length} failed`,
)
process.exit(failures.length === 0 ? 0 : 1)
