// What a user downloads: an application that imports one thing, bundled and minified, with the module it loads.

import { readFile } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { behind, table, times } from '../support/table.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MODULE = new URL('../../pkg/dist/waypost.wasm', import.meta.url)

const WAYPOST = "export { createRpcClient } from 'waypost'"
const ENTRIES = [
  { name: '`waypost` (inline module)', code: WAYPOST },
  { name: '`waypost` in Workers, with waypost.wasm', code: WAYPOST, conditions: ['workerd'], hasModule: true },
  { name: '`waypost/web`, with waypost.wasm', code: "export { createRpcClient, init } from 'waypost/web'", hasModule: true },
  { name: 'viem `http` + `fallback` only', code: "export { http, fallback } from 'viem'" },
  { name: 'viem `createClient` + `http` + `fallback`', code: "export { createClient, http, fallback } from 'viem'" },
  { name: 'viem `createPublicClient` + `http` + `fallback`', code: "export { createPublicClient, http, fallback } from 'viem'" },
  { name: 'ethers `JsonRpcProvider`', code: "export { JsonRpcProvider } from 'ethers'" },
  { name: 'ethers `FallbackProvider`', code: "export { FallbackProvider, JsonRpcProvider } from 'ethers'" },
]

const CLASSES = 'createWayfinderClient, FastestPingRoutingStrategy, StaticGatewaysProvider'
const MODEL = `export { ${CLASSES} } from '@ar.io/wayfinder-core'`
const MODEL_DIST = './node_modules/@ar.io/wayfinder-core/dist'
// What browsers do not have, and what the package imports without depending on it.
const ABSENT = [...builtinModules, 'node:*', 'axios']
const CONTENT_ENTRIES = [
  { name: '`waypost` (inline module)', code: `export { ${CLASSES} } from 'waypost'` },
  { name: '`waypost/web`, with waypost.wasm', code: `export { ${CLASSES}, init } from 'waypost/web'`, hasModule: true },
  { name: '`@ar.io/wayfinder-core`', code: MODEL },
  { name: '`@ar.io/wayfinder-core` without what it needs of Node and without axios: a lower bound', code: MODEL, external: ABSENT },
  {
    name: 'its two files of the strategy and the provider, without the client',
    code: `export * from '${MODEL_DIST}/routing/ping.js'; export * from '${MODEL_DIST}/gateways/static.js'`,
  },
]

const isOwn = ({ name }) => name.includes('waypost')

async function bundled({ code, conditions = [], external = [] }) {
  const { outputFiles } = await build({
    bundle: true,
    conditions,
    external: ['*.wasm', ...external],
    format: 'esm',
    logLevel: 'silent',
    minify: true,
    platform: 'browser',
    stdin: { contents: code, resolveDir: ROOT },
    target: 'es2022',
    write: false,
  })
  return outputFiles[0].contents
}

async function measure(entry) {
  const files = [await bundled(entry), ...(entry.hasModule ? [await readFile(MODULE)] : [])]
  const total = (size) => files.reduce((sum, bytes) => sum + size(bytes), 0)
  return {
    name: entry.name,
    raw: total((bytes) => bytes.length),
    gzip: total((bytes) => gzipSync(bytes, { level: 9 }).length),
    brotli: total((bytes) => brotliCompressSync(bytes).length),
  }
}

async function compared(entries) {
  const measured = []
  const failed = []
  for (const entry of entries) {
    try {
      measured.push(await measure(entry))
    } catch (error) {
      if (isOwn(entry) || error.errors === undefined) throw error
      failed.push(`${entry.name} does not bundle for browsers: ${error.errors[0]?.text}.`)
    }
  }
  const [own] = measured
  const number = (bytes) => bytes.toLocaleString('en')
  const rows = measured.map(({ name, raw, gzip, brotli }) => [
    name,
    times(gzip / own.gzip),
    number(raw),
    number(gzip),
    number(brotli),
  ])
  const others = measured.filter((entry) => !isOwn(entry))
  return [
    table(['entry', 'gzip, `waypost` = 1', 'raw bytes', 'gzip -9', 'brotli'], rows),
    '',
    ...failed.map((text) => `- ${text}`),
    `- ${behind('Size (gzip)', own.gzip, others.map(({ name, gzip }) => [name, gzip]))}`,
  ].join('\n')
}

export const sizes = async () => ({ sizes: await compared(ENTRIES), contentSizes: await compared(CONTENT_ENTRIES) })
