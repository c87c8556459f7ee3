// Counts what the engine does, compiled natively, with callgrind. The same program gives the same counts on every machine.

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const CARGO = process.env.CARGO ?? 'cargo'
const ROOT = new URL('../..', import.meta.url)
/** The function in engine.rs that holds what is to be counted. */
const COUNTED = '*::counted'
const ALLOCATION = /^(malloc|calloc|realloc|posix_memalign|aligned_alloc)$/

async function compile() {
  const words = ['build', '--quiet', '--profile', 'bench', '--package', 'gate', '--message-format', 'json']
  const { stdout } = await execute(CARGO, words, { cwd: ROOT, maxBuffer: Infinity })
  const messages = stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  return realpath(messages.find(({ target, executable }) => target?.name === 'gate' && executable).executable)
}

/**
 * Reads one profile. Only what the program itself executes is summed up: the C library has other instructions on every
 * machine, so of it the calls are counted. Most of those are of malloc, free and memcpy.
 *
 * The format writes a name once, `(7) malloc`, and then only its number; a line of cost that follows `calls=` is the
 * callee's.
 */
function tally(profile, program) {
  const names = { ob: new Map(), fn: new Map() }
  const nameOf = (kind, text) => {
    const [, number, name] = /^(\(\d+\))(?: (.+))?$/.exec(text)
    if (name !== undefined) names[kind].set(number, name)
    return names[kind].get(number)
  }
  const total = { instructions: 0, allocations: 0, libraryCalls: 0 }
  let object
  let calleeObject
  let callee
  let isCalleesCost = false
  for (const line of profile.split('\n')) {
    const [, key, value] = /^(ob|cob|fn|cfn|calls)=(.+)$/.exec(line) ?? []
    if (key === 'ob') object = nameOf('ob', value)
    else if (key === 'cob') calleeObject = nameOf('ob', value)
    else if (key === 'fn') nameOf('fn', value)
    else if (key === 'cfn') callee = nameOf('fn', value)
    else if (key === 'calls') {
      const calls = Number(value.split(' ')[0])
      if (object === program && calleeObject !== undefined && calleeObject !== program) {
        total.libraryCalls += calls
        if (ALLOCATION.test(callee)) total.allocations += calls
      }
      calleeObject = undefined
      isCalleesCost = true
    } else if (/^[\d+*-]/.test(line)) {
      if (!isCalleesCost && object === program) total.instructions += Number(line.split(' ')[1])
      isCalleesCost = false
    }
  }
  if (total.instructions === 0) throw new Error(`callgrind has seen nothing of ${program} within ${COUNTED}`)
  return total
}

/** Per repetition, by scenario: instructions, allocations, and calls of the C library. */
export async function engine() {
  const program = await compile()
  const folder = await mkdtemp(join(tmpdir(), 'gate-'))
  try {
    const file = join(folder, 'counts')
    const options = [`--callgrind-out-file=${file}`, `--zero-before=${COUNTED}`, `--dump-after=${COUNTED}`, '--dump-line=no']
    const { stdout } = await execute('valgrind', ['--tool=callgrind', ...options, program])
    const measured = {}
    for (const [index, line] of stdout.trim().split('\n').entries()) {
      const [times, name] = line.split('\t')
      const total = tally(await readFile(`${file}.${index + 1}`, 'utf8'), program)
      measured[name] = Object.fromEntries(Object.entries(total).map(([what, sum]) => [what, sum / times]))
    }
    return measured
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What the counts depend on: version and target. */
export async function compiler() {
  const { stdout } = await execute('rustc', ['-vV'], { cwd: ROOT })
  const [release, host] = ['release', 'host'].map((name) => new RegExp(`^${name}: (.+)$`, 'm').exec(stdout)[1])
  return `rustc ${release}, ${host}`
}
