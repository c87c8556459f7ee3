// What the servers of this repository take from their command line.

import { parseArgs } from 'node:util'

/**
 * Ends the process with a sentence instead of a stack.
 *
 * @returns {never}
 */
export function stopWith(message) {
  console.error(message)
  process.exit(1)
}

/** The number after `--port`, or the default. */
export function readPort(defaultPort) {
  try {
    const { port } = parseArgs({ options: { port: { type: 'string', default: defaultPort } } }).values
    if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return Number(port)
    return stopWith(`--port is ${port}, but must be a number from 0 (any free port) to 65535.`)
  } catch (error) {
    return stopWith(`${/** @type {Error} */ (error).message} The only option is --port N.`)
  }
}
