import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize, sep } from 'node:path'

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
}

/**
 * Serves to one test: `folders` maps the first path segment to a folder, `pages` a whole path to
 * `{ type, body }`. Answers with its origin.
 */
export async function serveStatic(t, { folders = {}, pages = {} }) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const page = pages[pathname]
    if (page) {
      response.writeHead(200, { 'content-type': TYPES[page.type] }).end(page.body)
      return
    }
    const [, first, ...rest] = pathname.split('/')
    const folder = folders[first]
    const file = folder && normalize(join(folder, ...rest))
    if (!file?.startsWith(folder + sep)) {
      response.writeHead(404).end()
      return
    }
    try {
      const body = await readFile(file)
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${server.address().port}`
}
