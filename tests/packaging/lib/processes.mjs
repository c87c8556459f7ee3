import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

const START_LIMIT_MS = 120_000
const LOOK_EVERY_MS = 100
// Nothing may ask for anything or send anything while consumers are built.
const QUIET = { CI: '1', NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', WRANGLER_SEND_METRICS: 'false' }

/** A process, with all that it prints. A `detached` one has a group of its own. */
function start(command, args, { cwd, env = {}, detached = false } = {}) {
  // What the process that runs the tests is told is not meant for consumers.
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, FORCE_COLOR: ___, ...inherited } = process.env
  const child = spawn(command, args, { cwd, env: { ...inherited, ...QUIET, ...env }, detached, stdio: ['ignore', 'pipe', 'pipe'] })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => { printed[name] += text })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  const failure = (how) => new Error(`${[command, ...args].join(' ')} ${how}\n${printed.stdout}${printed.stderr}`)
  return { child, printed, ended, failure }
}

/** Runs a command to its end. Answers with `{ stdout, stderr }`; throws with both if it fails. */
export async function run(command, args, options) {
  const { printed, ended, failure } = start(command, args, options)
  const code = await ended
  if (code !== 0) throw failure(`ended with ${code}`)
  return printed
}

/** Starts a server, which ends with `scope`, and waits until something answers at `url`. */
export async function serve(scope, url, command, args, options) {
  const { child, ended, failure } = start(command, args, { ...options, detached: true })
  let code
  ended.then((value) => { code = value }, () => { code = 'an error' })
  const kill = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  process.once('exit', kill)
  scope.after(async () => {
    process.off('exit', kill)
    kill()
    await ended.catch(() => {})
  })
  const signal = AbortSignal.timeout(START_LIMIT_MS)
  const answers = async () => {
    try {
      await (await fetch(url, { signal })).body?.cancel()
      return true
    } catch {
      return false
    }
  }
  while (!(await answers())) {
    if (code !== undefined) throw failure(`ended with ${code}`)
    if (signal.aborted) throw failure(`did not answer at ${url}`)
    await delay(LOOK_EVERY_MS)
  }
}
