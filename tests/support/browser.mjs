import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { serveStatic } from './static-server.mjs'

const BROWSERS = ['chromium', 'firefox', 'webkit']
/** The browser of this run. */
export const BROWSER = process.env.BROWSER ?? 'chromium'
if (!BROWSERS.includes(BROWSER)) throw new Error(`BROWSER is ${BROWSER}; choose one of ${BROWSERS.join(', ')}`)
const { LACKS, isReport, launch } = await import(`./browsers/${BROWSER}.mjs`)

/** Options of a test that needs these of a browser: where one is lacking the test is skipped, with the reason. */
export function needs(...features) {
  const lacking = features.filter((feature) => LACKS[feature])
  return lacking.length === 0 ? {} : { skip: lacking.map((feature) => `${BROWSER}: no ${feature}, ${LACKS[feature]}`).join('; ') }
}

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
  const browser = await launch()
  t.after(() => browser.close())
  return { browser, origin }
}

/** Errors of a page's own scripts, as they come. */
export function watchErrors(page) {
  const errors = []
  page.on('pageerror', (error) => { if (!isReport(error)) errors.push(error.stack ?? error.message) })
  return errors
}

/** Opens the empty page. `errors` are those of its scripts, all of them once the page is closed. */
export async function openPage({ browser, origin }) {
  const page = await browser.newPage()
  const errors = watchErrors(page)
  await page.goto(`${origin}/`)
  return { page, errors }
}
