import { request as httpRequest } from 'node:http'

const MAX_REDIRECTS = 20
const REDIRECTS = [301, 302, 303, 307, 308]
const NO_BODY = [204, 205, 304]

/** Sends one request and resolves with the incoming message. */
function exchange(url, port, { method, headers, body, signal }) {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({
      host: '127.0.0.1', port, method, path: url.pathname + url.search, agent: false,
      headers: { ...headers, host: url.host },
    })
    const abort = () => outgoing.destroy(signal.reason)
    signal?.addEventListener('abort', abort)
    outgoing.once('close', () => signal?.removeEventListener('abort', abort))
    outgoing.once('response', resolve)
    outgoing.on('error', (cause) => reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause })))
    outgoing.end(body)
  })
}

function streamOf(incoming, signal) {
  const chunks = incoming[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(new Uint8Array(value))
      } catch (cause) {
        throw signal?.aborted ? signal.reason : new TypeError('terminated', { cause })
      }
    },
    cancel: () => void incoming.destroy(),
  })
}

function responseOf(incoming, { url, method, signal, redirected }) {
  const hasBody = method !== 'HEAD' && !NO_BODY.includes(incoming.statusCode)
  if (!hasBody) incoming.resume()
  const response = new Response(hasBody ? streamOf(incoming, signal) : null, {
    status: incoming.statusCode, statusText: incoming.statusMessage, headers: new Headers(headerPairs(incoming)),
  })
  return Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirected } })
}

const headerPairs = ({ rawHeaders }) =>
  rawHeaders.flatMap((name, position) => (position % 2 === 0 ? [[name, rawHeaders[position + 1]]] : []))

/**
 * A `fetch` that connects to the loopback interface whatever the host name is, by plain HTTP: to the
 * port of `gateway`, or without one to the port in the URL. Node does not resolve the subdomains of
 * localhost, nor names such as gw-a.test; Chromium does resolve all of *.localhost, so a page needs no
 * such help.
 */
export const fetchVia = (gateway) => async (input, init = {}) => {
  const signal = init.signal ?? (input instanceof Request ? input.signal : undefined)
  const asked = new Request(input, { ...init, signal: null })
  signal?.throwIfAborted()
  const body = asked.body ? Buffer.from(await asked.arrayBuffer()) : undefined
  const { method } = asked
  const headers = Object.fromEntries(asked.headers)
  let url = new URL(asked.url)
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const incoming = await exchange(url, gateway?.port ?? url.port, { method, headers, body, signal })
    const isRedirect = REDIRECTS.includes(incoming.statusCode) && incoming.headers.location !== undefined
    if (!isRedirect || asked.redirect === 'manual') {
      return responseOf(incoming, { url, method, signal, redirected: hops > 0 })
    }
    incoming.resume()
    if (asked.redirect === 'error') throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') })
    url = new URL(incoming.headers.location, url)
  }
  throw new TypeError('fetch failed', { cause: new Error('redirect count exceeded') })
}
