import { createHash } from 'node:crypto'

const sha256 = (data) => createHash('sha256').update(data).digest('base64url')

/** An id of the form that gateways know, 43 characters of base64url, which stands for `data` alone. */
export const idOf = sha256

/** What `x-ar-io-digest` says of a body. */
export const digestOf = sha256

/** The bytes that stand on the network for a manifest of the short form that content tables use. */
export const manifestBytes = ({ index, paths, fallback }) =>
  Buffer.from(JSON.stringify({
    manifest: 'arweave/paths',
    version: '0.2.0',
    index,
    paths: Object.fromEntries(Object.entries(paths).map(([path, id]) => [path, { id }])),
    fallback: fallback && { id: fallback },
  }))

// A prime number of bytes: no part of the body equals another that begins at a multiple of a usual buffer size.
const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, position) => position))

const TEXT = Buffer.from('hello permaweb\n')
const PAGE = Buffer.from('<!doctype html><title>sample</title><link rel="stylesheet" href="a/b.css"><h1>sample</h1>')
const STYLE = Buffer.from('h1 { color: teal }\n')
const LOST = Buffer.from('<!doctype html><title>lost</title>')
const BIG = Buffer.alloc(5 * 1024 * 1024, PATTERN)

const MANIFEST = {
  index: { path: 'index.html' },
  paths: { 'index.html': idOf(PAGE), 'a/b.css': idOf(STYLE) },
  fallback: idOf(LOST),
}

/** The ids of the samples. `site` is the manifest, `page`, `style` and `lost` are its parts, `big` has 5 MiB. */
export const IDS = {
  text: idOf(TEXT),
  page: idOf(PAGE),
  style: idOf(STYLE),
  lost: idOf(LOST),
  big: idOf(BIG),
  site: idOf(manifestBytes(MANIFEST)),
}

/** What a gateway serves if a test names nothing else. */
export const CONTENT = {
  [IDS.text]: { body: TEXT, type: 'text/plain; charset=utf-8' },
  [IDS.page]: { body: PAGE, type: 'text/html; charset=utf-8' },
  [IDS.style]: { body: STYLE, type: 'text/css; charset=utf-8' },
  [IDS.lost]: { body: LOST, type: 'text/html; charset=utf-8' },
  [IDS.big]: { body: BIG },
  [IDS.site]: { manifest: MANIFEST },
}

/** Names, each a whole subdomain: an undername is a name of its own. */
export const NAMES = { hello: IDS.text, docs: IDS.site, style_docs: IDS.style, big: IDS.big }
