// What a call costs in the shell, by numbers that no other program on the machine can change.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const SEMI_SPACE_MB = 256
const STEADY_HEAP = [
  '--expose-gc',
  '--no-opt',
  `--max-semi-space-size=${SEMI_SPACE_MB}`,
  `--min-semi-space-size=${SEMI_SPACE_MB}`,
]

function answerOf(file, execArgv) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv })
  return new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`benches/gate/${file} has measured nothing: exit code ${code}`)))
  })
}

/** Per call, by name: crossings of the boundary, timers, abort controllers, bytes allocated. */
export async function shell() {
  const crossings = await answerOf('crossings.mjs', [])
  const bytes = await answerOf('bytes.mjs', STEADY_HEAP)
  return Object.fromEntries(Object.keys(crossings).map((name) => [name, { ...crossings[name], ...bytes[name] }]))
}
