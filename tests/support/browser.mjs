import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { serveStatic } from './static-server.mjs'

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
]
const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Each library as a module of its own, as a page without a bundler would load it. */
const LIBRARIES = {
  viem: "export * as viem from 'viem'; export { privateKeyToAccount } from 'viem/accounts'",
  ethers: "export { ethers } from 'ethers'",
  web3: "export { Web3 } from 'web3'",
}

async function bundle(contents) {
  const { outputFiles: [{ text }] } = await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true, format: 'esm', platform: 'browser', target: 'es2022', write: false, logLevel: 'error',
    define: { global: 'globalThis' },
  })
  return { type: '.js', body: text }
}

/**
 * Starts a site that serves an empty page, the package as it is published, the shared scripts and
 * bundles of the libraries, and a browser. Both end with test `t`.
 */
export async function startBrowser(t, libraries = Object.keys(LIBRARIES)) {
  const bundles = await Promise.all(
    libraries.map(async (name) => [`/libraries/${name}.js`, await bundle(LIBRARIES[name])]),
  )
  const origin = await serveStatic(t, {
    folders: { waypost: dirname(fileURLToPath(import.meta.resolve('waypost'))), support: import.meta.dirname },
    pages: { '/': { type: '.html', body: '<!doctype html><title>Waypost</title>' }, ...Object.fromEntries(bundles) },
  })
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: FLAGS })
  t.after(() => browser.close())
  return { browser, origin }
}

/** Opens the empty page. What it logs as an error, other than failed requests, ends up in `errors`. */
export async function openPage({ browser, origin }) {
  const page = await browser.newPage()
  const errors = []
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message))
  await page.goto(`${origin}/`)
  return { page, errors }
}
