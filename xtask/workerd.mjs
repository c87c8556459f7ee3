// Workers in the runtime that Cloudflare deploys them to: bundling them as wrangler does, and running them by miniflare.

import { build } from 'esbuild'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = new URL('../', import.meta.url)
/** What Waypost promises to run with, unless an example says more. */
const OLDEST_DATE = '2025-01-01'

/**
 * @typedef {{ script: string } | { example: string }} Source the text of a module, which may import `waypost`, or the name of an example
 * @typedef {{ entry: import('esbuild').BuildOptions, compatibilityDate: string, durableObjects?: Record<string, string> }} Prepared
 */

const path = (name) => fileURLToPath(new URL(name, ROOT))

/**
 * The file of an example, after what its own build does first.
 *
 * @returns {Promise<Prepared>}
 */
async function prepare(example) {
  const folder = path(`examples/${example}`)
  await promisify(execFile)(process.execPath, [join(folder, 'convert.mjs')])
  const settings = await readFile(join(folder, 'wrangler.toml'), 'utf8')
  const compatibilityDate = /^compatibility_date = "(.+)"$/m.exec(settings)?.[1] ?? OLDEST_DATE
  const [, binding, className] = /^name = "(\w+)"\nclass_name = "(\w+)"$/m.exec(settings) ?? []
  const durableObjects = binding === undefined || className === undefined ? {} : { [binding]: className }
  return { entry: { entryPoints: [join(folder, 'worker.js')] }, compatibilityDate, durableObjects }
}

/** @returns {Prepared} */
function inline(contents) {
  return { entry: { stdin: { contents, resolveDir: path('.') } }, compatibilityDate: OLDEST_DATE }
}

/**
 * The options that miniflare needs for a Worker.
 *
 * @param {Source} source
 */
export async function workerOptions(source) {
  const { entry, ...settings } = 'script' in source ? inline(source.script) : await prepare(source.example)
  const { outputFiles } = await build({
    ...entry,
    absWorkingDir: path('.'),
    assetNames: '[name]',
    bundle: true,
    conditions: ['workerd', 'worker', 'browser'],
    entryNames: 'worker',
    external: ['cloudflare:*', 'node:*'],
    format: 'esm',
    loader: { '.wasm': 'copy' },
    logLevel: 'warning',
    outdir: '/',
    target: 'es2022',
    write: false,
  })
  const modules = outputFiles.map(({ path: file, contents }) => ({
    type: /** @type {'CompiledWasm' | 'ESModule'} */ (file.endsWith('.wasm') ? 'CompiledWasm' : 'ESModule'),
    path: `/${basename(file)}`,
    contents: new Uint8Array(contents),
  }))
  // The first one is where a Worker starts.
  modules.sort((a, b) => Number(a.type === 'CompiledWasm') - Number(b.type === 'CompiledWasm'))
  return { modules, modulesRoot: '/', ...settings }
}
