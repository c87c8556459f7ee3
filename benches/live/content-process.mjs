// Processes that answer questions: what a package does to globals, and what servers cost, must not reach the others.

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts a module beside this one. `ask` has to be answered before it is called again. */
export function startProcess(file, args = []) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [] })
  let fail
  const died = new Promise((_, reject) => {
    fail = reject
  })
  died.catch(() => {})
  child.once('exit', (code) => fail(new Error(`${[file, ...args].join(' ')} ended with exit code ${code}`)))
  return {
    ask(name, question) {
      const answered = new Promise((resolve) => child.once('message', ({ value }) => resolve(value)))
      child.send({ name, question })
      return Promise.race([answered, died])
    },
    stop: () => child.kill(),
  }
}

/** The other side: answers with these functions. */
export function answerWith(answers) {
  process.on('message', async ({ name, question }) => process.send({ value: await answers[name](question) }))
  // Servers would outlive a benchmark that has failed.
  process.once('disconnect', () => process.exit())
}
