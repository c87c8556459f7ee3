// All policies in all scenarios of tests/scenarios, by the simulator: one table of means, one of 99.9th percentiles.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ORACLE = 'oracle_hedged'
const OURS = ['load_balanced', 'fastest', 'latency_weighted', 'priority', 'adaptive', 'fastest+hedge', 'latency_weighted+hedge', 'adaptive+hedge']
const OTHERS = [
  'plain_round_robin', 'random', 'lasso_formula', 'viem_rank', 'c3', 'thompson', 'peak_ewma', 'peak_ewma_cooldown',
  'latency_weighted_hedged', 'peak_ewma_hedged', 'oracle', ORACLE,
]

/** Rows of the simulator's own table: scenario, policy, numbers. */
function simulate(seeds) {
  const words = ['run', '-q', '--release', '--example', 'simulate', '--', '--table', 'tests/scenarios']
  const text = execFileSync('cargo', [...words, '--seeds', String(seeds), '--only', [...OURS, ...OTHERS].join()], { cwd: ROOT, encoding: 'utf8' })
  const cells = text.split('\n').filter((line) => line.startsWith('| ')).map((line) => line.slice(1, -1).split('|').map((cell) => cell.trim()))
  const [header, ...rows] = cells
  return rows.map((row) => Object.fromEntries(row.map((cell, index) => [header[index], cell])))
}

/** One row for each policy, one column for each scenario: times the hedged oracle; its own row has milliseconds. */
function pivot(rows, column, ratio) {
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))]
  const at = (policy, scenario) => rows.find((row) => row.policy === policy && row.scenario === scenario)
  const cell = (policy, scenario) => {
    const row = at(policy, scenario)
    return policy === ORACLE ? `${Number(row[column]).toFixed(0)} ms` : row[ratio]
  }
  const line = (policy) => `| ${[policy, ...scenarios.map((scenario) => cell(policy, scenario))].join(' | ')} |`
  const head = [`| policy | ${scenarios.join(' | ')} |`, `| --- |${' ---: |'.repeat(scenarios.length)}`]
  return [...head, ...[...OURS, ...OTHERS].map(line)].join('\n')
}

/** What it costs the providers, and who gets no answer. */
function cost(rows) {
  const columns = ['429/req', 'attempts/req', 'failed']
  const worst = (policy, column) => Math.max(...rows.filter((row) => row.policy === policy).map((row) => Number(row[column])))
  const line = (policy) => `| ${policy} | ${columns.map((column) => worst(policy, column)).join(' | ')} |`
  return ['| policy | refusals per request | attempts per request | failed |', '| --- | ---: | ---: | ---: |', ...[...OURS, ...OTHERS].map(line)].join('\n')
}

/** @param {{ isQuick: boolean }} options */
export async function simulator({ isQuick }) {
  const rows = simulate(isQuick ? 1 : 20)
  return {
    simulatorMean: pivot(rows, 'mean', 'mean ÷ oracle'),
    simulatorTail: pivot(rows, 'p99.9', 'p99.9 ÷'),
    simulatorCost: cost(rows),
  }
}
