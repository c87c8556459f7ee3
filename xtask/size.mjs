// What a user downloads: each entry bundled and minified, with the module it loads, against size-budget.json.

import { build } from 'esbuild'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const BUDGET = new URL('../size-budget.json', import.meta.url)
const HEADROOM = 1.02
/** @type {{ name: string, file: string, hasModule: boolean, only?: string }[]} `only`: what a page imports that does not need the rest. */
const ENTRIES = [
  { name: 'index', file: 'index.js', hasModule: false },
  { name: 'workerd', file: 'workerd.js', hasModule: true },
  { name: 'web', file: 'web.js', hasModule: true },
  { name: 'web, RPC only', file: 'web.js', hasModule: true, only: 'init, createRpcClient' },
  { name: 'web, content only', file: 'web.js', hasModule: true, only: 'init, createWayfinderClient' },
  { name: 'index, RPC only', file: 'index.js', hasModule: false, only: 'createRpcClient' },
  { name: 'workerd, endpoint only', file: 'workerd.js', hasModule: true, only: 'createRpcClient, createRpcHandler' },
  { name: 'viem', file: 'viem.js', hasModule: false },
  { name: 'ethers', file: 'ethers.js', hasModule: false },
  { name: 'kit', file: 'kit.js', hasModule: false },
]

const dist = (file) => fileURLToPath(new URL(`../pkg/dist/${file}`, import.meta.url))

/** @param {string} file @param {string} names */
async function minified(file, names) {
  const { outputFiles } = await build({
    bundle: true,
    stdin: { contents: `export ${names} from '${dist(file)}'`, resolveDir: dist('') },
    external: ['./waypost.wasm', 'viem'],
    format: 'esm',
    minify: true,
    target: 'es2022',
    write: false,
  })
  return outputFiles[0].contents
}

function sizes(files) {
  const total = (size) => files.reduce((sum, bytes) => sum + size(bytes), 0)
  return {
    raw: total((bytes) => bytes.length),
    gzip: total((bytes) => gzipSync(bytes, { level: 9 }).length),
    brotli: total((bytes) => brotliCompressSync(bytes).length),
  }
}

async function measure() {
  const module = await readFile(dist('waypost.wasm'))
  const measured = {}
  for (const { name, file, hasModule, only } of ENTRIES) {
    const script = await minified(file, only === undefined ? '*' : `{ ${only} }`)
    measured[name] = sizes(hasModule ? [script, module] : [script])
  }
  return measured
}

const withHeadroom = (entry) =>
  Object.fromEntries(Object.entries(entry).map(([kind, bytes]) => [kind, Math.ceil(bytes * HEADROOM)]))

async function update(measured) {
  const budget = Object.fromEntries(
    Object.entries(measured).map(([name, entry]) => [name, withHeadroom(entry)]),
  )
  await writeFile(BUDGET, `${JSON.stringify(budget, null, 2)}\n`)
}

async function readBudget() {
  if (!existsSync(BUDGET)) throw new Error('no size-budget.json: cargo xtask size --update writes it')
  return JSON.parse(await readFile(BUDGET, 'utf8'))
}

const measured = await measure()
console.table(measured)
if (process.argv.includes('--update')) {
  await update(measured)
} else {
  const budget = await readBudget()
  for (const [name, entry] of Object.entries(measured)) {
    for (const [kind, bytes] of Object.entries(entry)) {
      const limit = budget[name]?.[kind]
      if (bytes <= limit) continue
      console.error(
        `${name} is ${bytes} bytes (${kind}), over its budget of ${limit}. Make it smaller, or accept the new size: cargo xtask size --update`,
      )
      process.exitCode = 1
    }
  }
}
