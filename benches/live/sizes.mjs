// What a user downloads: an application that imports one thing, bundled and minified, with the module it loads.

import { readFile } from 'node:fs/promises'
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
  { name: '`@ar.io/wayfinder-core`', code: "export { createWayfinderClient } from '@ar.io/wayfinder-core'" },
]

async function bundled({ code, conditions = [] }) {
  const { outputFiles } = await build({
    bundle: true,
    conditions,
    external: ['*.wasm'],
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

export async function sizes() {
  const measured = []
  const failed = []
  for (const entry of ENTRIES) {
    try {
      measured.push(await measure(entry))
    } catch (error) {
      if (entry.code === WAYPOST || error.errors === undefined) throw error
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
  const others = measured.filter(({ name }) => !name.includes('waypost'))
  return {
    sizes: [
      table(['entry', 'gzip, `waypost` = 1', 'raw bytes', 'gzip -9', 'brotli'], rows),
      '',
      ...failed.map((text) => `- ${text}`),
      `- ${behind('Size (gzip)', own.gzip, others.map(({ name, gzip }) => [name, gzip]))}`,
    ].join('\n'),
  }
}
