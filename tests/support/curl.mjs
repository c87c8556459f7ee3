import { execFile } from 'node:child_process'
import { parseArgs, promisify } from 'node:util'

const OPTIONS = {
  request: { type: 'string', short: 'X' },
  header: { type: 'string', short: 'H', multiple: true, default: [] },
  data: { type: 'string', short: 'd' },
  include: { type: 'boolean', short: 'i', default: false },
}

/** As curl prints it, for command lines with no more than `OPTIONS`. */
async function imitate(args) {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
  const headers = values.header.map((line) => line.split(/:\s*/, 2))
  const response = await fetch(positionals[0], { method: values.request, headers, body: values.data })
  const head = [`HTTP/1.1 ${response.status} ${response.statusText}`, ...Array.from(response.headers, (pair) => pair.join(': '))]
  return `${values.include ? `${head.join('\r\n')}\r\n\r\n` : ''}${await response.text()}`
}

/** Runs a `curl` command line, whose words have single quotes or none, and answers with what it prints. */
export async function curl(line) {
  const words = line.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|(\S+)/g)
  const [, ...args] = Array.from(words, ([, quoted, bare]) => quoted ?? bare)
  try {
    const { stdout } = await promisify(execFile)('curl', ['--silent', '--show-error', '--noproxy', '*', ...args])
    return stdout
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return imitate(args)
  }
}

/** Reads what `curl -i` prints: `{ status, headers, body }`. */
export function readPrinted(text) {
  const [head, body] = text.split('\r\n\r\n')
  const [first, ...lines] = head.split('\r\n')
  return { status: Number(first.split(' ')[1]), headers: new Headers(lines.map((line) => line.split(/:\s*/, 2))), body }
}
