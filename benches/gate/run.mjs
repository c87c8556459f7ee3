// What a request costs, in numbers that are the same in every run, against budget.json.
//
//   node benches/gate/run.mjs            fails if something costs more than its budget
//   node benches/gate/run.mjs --update   writes what was measured, and a little more, as the budget

import { ACCEPT, compare, forgotten, readBudget, table, writeBudget } from './budget.mjs'
import { compiler, engine } from './engine.mjs'
import { growth, growthTable, overgrown } from './growth.mjs'
import { shell } from './shell.mjs'

const hasCallgrind = process.platform === 'linux'
const isUpdate = process.argv.includes('--update')
if (isUpdate && !hasCallgrind) throw new Error('The budget is written on Linux: its instructions are counted by valgrind.')

const makers = { node: `Node ${process.versions.node.split('.')[0]}` }
const parts = { shell: await shell() }
if (hasCallgrind) {
  makers.compiler = await compiler()
  parts.engine = await engine()
} else console.log('The engine is skipped: its instructions are counted by valgrind, on Linux.')
const costs = { ...parts.engine, ...parts.shell }
const grown = growth(costs)

if (isUpdate) await writeBudget(costs, makers)
const budget = await readBudget()
for (const part of Object.values(parts)) console.table(table(part, budget))
if (hasCallgrind) console.table(growthTable(grown))

const { failures, notices } = compare(costs, makers, budget)
failures.push(...overgrown(grown), ...(hasCallgrind ? forgotten(costs, budget) : []))
for (const notice of notices) console.log(`notice: ${notice}`)
for (const failure of failures) console.error(`OVER: ${failure}`)
if (notices.length + failures.length > 0) console.log(`To take what was measured as the new budget: ${ACCEPT}`)
if (failures.length > 0) process.exitCode = 1
