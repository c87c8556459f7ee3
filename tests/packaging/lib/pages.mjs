import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { serveStatic } from '../../support/static-server.mjs'

const REPORT_LIMIT_MS = 60_000

/** Starts a browser by its name, `chromium` for one. It ends with `scope`. */
export async function startBrowser(scope, name) {
  const { launch } = await import(`../../support/browsers/${name}.mjs`)
  const browser = await launch()
  scope.after(() => browser.close())
  return browser
}

/** Opens a page, waits for its report and answers with it. Throws what the page throws. */
export async function runPage(browser, url) {
  const page = await browser.newPage()
  const messages = []
  page.on('console', (message) => messages.push(message.text()))
  const failed = new Promise((_, reject) => page.on('pageerror', reject))
  failed.catch(() => {})
  try {
    const load = page.goto(url).then(() => page.locator('#report').textContent({ timeout: REPORT_LIMIT_MS }))
    return JSON.parse(await Promise.race([load, failed]))
  } catch (error) {
    throw new Error([`${url}: ${error.message}`, ...messages].join('\n'), { cause: error })
  } finally {
    await page.close()
  }
}

/** Serves a built page, which is nothing but files. Answers with its origin. */
export async function serveFolder(scope, folder, folders = {}) {
  const entries = await readdir(folder, { withFileTypes: true })
  const pages = {}
  for (const { name } of entries.filter((entry) => entry.isFile())) {
    pages[name === 'index.html' ? '/' : `/${name}`] = { type: extname(name), body: await readFile(join(folder, name)) }
  }
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => [name, join(folder, name)])
  return serveStatic(scope, { folders: { ...Object.fromEntries(inside), ...folders }, pages })
}

/** The address under which a page finds the mock servers. */
export const withTargets = (url, targets) => `${url}?targets=${encodeURIComponent(targets)}`
