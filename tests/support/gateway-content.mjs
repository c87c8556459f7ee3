import { isIP } from 'node:net'
import { digestOf, manifestBytes } from './gateway-samples.mjs'

// An answer is `{ status, headers, body }`. A request is `{ method, host, target, headers, body }`.

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const SANDBOX = /^[a-z2-7]{52}$/
const ID_PATH = /^\/([\w-]{43})(\/.*)?$/
const RAW_PATH = /^\/raw\/([\w-]{43})$/
const NAME_TTL_SECONDS = 300

/** The subdomain in which a gateway serves an id: base32 of its bytes. */
export function sandboxOf(id) {
  const bits = [...Buffer.from(id, 'base64url')].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.match(/.{1,5}/g).map((group) => BASE32[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

/** The path of a request target, without its query. */
export const pathOf = (target) => target.split('?')[0]

const html = (status, title) => ({
  status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: `<!doctype html><title>${title}</title>`,
})
const json = (body) => ({ status: 200, headers: { 'content-type': 'application/json' }, body })
const redirect = (status, location) => ({ status, headers: { location }, body: '' })

/**
 * Two labels are a gateway's own name, what stands before them is the subdomain; a sandbox may also
 * stand before a single label.
 */
function splitHost(host) {
  const hostname = host.replace(/:\d+$/, '')
  if (isIP(hostname) || hostname === 'localhost') return { subdomain: '', apex: host, isNamed: false }
  const labels = host.toLowerCase().split('.')
  const depth = SANDBOX.test(labels[0]) ? 1 : Math.max(labels.length - 2, 0)
  return { subdomain: labels.slice(0, depth).join('.'), apex: labels.slice(depth).join('.'), isNamed: true }
}

/** The first and the last position, null if the range lies outside, undefined if there is none to heed. */
function rangeOf(header, size) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (first === undefined || first + last === '') return undefined
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  return start <= end ? [start, end] : null
}

const isKnown = (etag, header = '') => header.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))

/** Answers with the bytes, with the part asked for, or that the client has them. */
function bytes(id, { body, type = 'application/octet-stream', headers: own }, request, nameHeaders) {
  const data = Buffer.from(body)
  const digest = digestOf(data)
  const etag = `"${digest}"`
  const headers = {
    'content-type': type,
    'accept-ranges': 'bytes',
    etag,
    'x-ar-io-digest': digest,
    'x-ar-io-data-id': id,
    'x-ar-io-verified': 'true',
    ...nameHeaders,
    ...own,
  }
  if (isKnown(etag, request.headers['if-none-match'])) return { status: 304, headers, body: '' }
  const range = request.method === 'GET' ? rangeOf(request.headers.range, data.length) : undefined
  if (range === undefined) return { status: 200, headers, body: data }
  if (range === null) return { status: 416, headers: { 'content-range': `bytes */${data.length}` }, body: '' }
  const [start, end] = range
  const part = { ...headers, 'content-range': `bytes ${start}-${end}/${data.length}` }
  return { status: 206, headers: part, body: data.subarray(start, end + 1) }
}

/** What an id stands for at `path`, which is undefined or begins with a slash. */
function data(content, id, path, request, nameHeaders) {
  const entry = content[id]
  if (!entry) return html(404, 'Not found')
  if (!entry.manifest) {
    return path === undefined || path === '/' ? bytes(id, entry, request, nameHeaders) : html(404, 'Not found')
  }
  if (path === undefined) return redirect(301, request.target.replace(id, `${id}/`))
  const { index, paths, fallback } = entry.manifest
  const part = paths[decodeURIComponent(path.slice(1)) || index?.path] ?? fallback
  return content[part] ? bytes(part, content[part], request, nameHeaders) : html(404, 'Not found')
}

function raw(content, id, request) {
  const entry = content[id]
  if (!entry) return html(404, 'Not found')
  const manifest = entry.manifest && { body: manifestBytes(entry.manifest), type: 'application/x.arweave-manifest+json' }
  return bytes(id, manifest ?? entry, request)
}

const peerMap = (peers) =>
  Object.fromEntries(peers.map((peer) => [new URL(peer).host, { url: new URL(peer).origin }]))

/** What a gateway serves on its own name apart from data. */
function endpoint({ content, peers, tag }, path, request) {
  const rawId = RAW_PATH.exec(path)?.[1]
  if (rawId) return raw(content, rawId, request)
  switch (path) {
    case '/': return { status: 200, headers: { 'content-type': 'text/plain' }, body: `gateway ${tag}\n` }
    case '/ar-io/peers': return json(JSON.stringify({ gateways: peerMap(peers) }))
    case '/ar-io/healthcheck': return json(JSON.stringify({ uptime: 1, message: 'healthy' }))
    case '/ar-io/info': return json(JSON.stringify({ wallet: tag, release: 'mock' }))
    default: return html(404, 'Not found')
  }
}

/** How a gateway in good health, with this `{ content, names, peers, tag }`, answers a request. */
export function answerTo(gateway, request) {
  const path = pathOf(request.target)
  const { subdomain, apex, isNamed } = splitHost(request.host)
  if (request.method === 'POST') return path === '/graphql' ? json(request.body) : html(404, 'Not found')
  if (!['GET', 'HEAD'].includes(request.method)) return html(405, 'Method not allowed')

  if (subdomain !== '' && !SANDBOX.test(subdomain)) {
    const id = gateway.names[subdomain]
    return data(gateway.content, id, path, request, {
      'x-arns-resolved-id': id, 'x-arns-ttl-seconds': `${NAME_TTL_SECONDS}`,
    })
  }
  const [, id, rest] = ID_PATH.exec(path) ?? []
  if (id === undefined) return subdomain === '' ? endpoint(gateway, path, request) : html(404, 'Not found')
  const sandbox = sandboxOf(id)
  // A sandbox keeps each id in an origin of its own, so no other host may serve it.
  if (isNamed && subdomain !== sandbox) return redirect(302, `http://${sandbox}.${apex}${request.target}`)
  return data(gateway.content, id, rest, request)
}
