/** The web site of the demo: its files, the package as it is published, and the switches of the mocks. */

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize, sep } from 'node:path'
import { json } from 'node:stream/consumers'

/** What may be served at all, by extension: neither the server's own code nor anything else that lies about. */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

const PACKAGE_PREFIX = '/waypost/'

/**
 * @param {{ www: string, dist: string, mocks: import('./mocks.mjs').Mocks }} options
 */
export function createSite({ www, dist, mocks }) {
  /** @param {string} pathname */
  const find = (pathname) => {
    const [folder, rest] = pathname.startsWith(PACKAGE_PREFIX)
      ? [dist, pathname.slice(PACKAGE_PREFIX.length)]
      : [www, pathname.endsWith('/') ? `${pathname}index.html` : pathname]
    const file = normalize(join(folder, rest))
    return file.startsWith(folder + sep) ? file : undefined
  }

  return createServer(async (request, response) => {
    /**
     * @param {number} status
     * @param {string} type
     * @param {string | Buffer} body
     */
    const send = (status, type, body) =>
      response
        .writeHead(status, { 'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
        .end(request.method === 'HEAD' ? undefined : body)
    const fail = (status, message) => send(status, 'text/plain; charset=utf-8', `${message}\n`)

    try {
      const pathname = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
      const [, collection, id] = pathname.split('/')
      if (collection === 'mocks' && request.method === 'PUT') {
        const { mode } = /** @type {any} */ (await json(request)) ?? {}
        const problem = mocks.setMode(id, mode)
        if (problem) return fail(400, problem)
      }
      if (collection === 'mocks') return send(200, 'application/json', JSON.stringify(mocks.describe()))

      const file = find(pathname)
      const type = file && TYPES[extname(file)]
      const body = type && (await readFile(file).catch(() => undefined))
      return body ? send(200, type, body) : fail(404, `There is nothing at ${pathname}.`)
    } catch {
      return fail(400, 'The request cannot be read.')
    }
  })
}
