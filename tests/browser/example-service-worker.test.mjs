/** The example of a service worker as its page is served; only the providers' hosts are played by mocks. */

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { build } from 'esbuild'
import { startBrowser, watchErrors } from '../support/browser.mjs'
import { startMocks } from '../support/providers.mjs'
import { serveStatic } from '../support/static-server.mjs'

const EXAMPLE = new URL('../../examples/service-worker/', import.meta.url)
const PROVIDER = /'https:\/\/[^']+'/g

const source = (name) => readFile(new URL(name, EXAMPLE), 'utf8')

/** The site, with the n-th provider of each chain at the n-th mock. */
async function startSite(t) {
  const mocks = await startMocks(t, 3)
  let places = 0
  const contents = (await source('service-worker.js')).replace(PROVIDER, () => `'${mocks[places++ % mocks.length].url}'`)
  assert.equal(places, 6)
  const { outputFiles: [script] } = await build({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, write: false })
  const pages = {
    '/': { type: '.html', body: await source('site/index.html') },
    '/page.js': { type: '.js', body: await source('site/page.js') },
    '/service-worker.js': { type: '.js', body: script.text },
  }
  return { mocks, origin: await serveStatic(t, { pages }) }
}

async function openReady(page, origin) {
  await page.goto(origin)
  await page.waitForFunction(() => !document.querySelector('#ask').disabled)
}

const latest = (page) => page.evaluate(() => document.querySelector('#answers li').textContent)

test('a page gets its answers through the service worker, from its first visit on and when a provider fails', async (t) => {
  const { mocks, origin } = await startSite(t)
  const { browser } = await startBrowser(t, [])
  const page = await browser.newPage()
  const errors = watchErrors(page)
  await openReady(page, origin)
  for (const [index, chain] of ['ethereum', 'base', 'ethereum'].entries()) {
    // All but the last one.
    if (index === 2) mocks.slice(0, 2).forEach((mock) => mock.fault('status', { status: 503 }))
    await page.evaluate((value) => {
      document.querySelector('#chain').value = value
      document.querySelector('#ask').click()
    }, chain)
    await page.waitForFunction((count) => document.querySelectorAll('#answers li').length === count, index + 1)
    assert.match(await latest(page), new RegExp(`^${chain}: block 16 from 127\\.0\\.0\\.1:\\d+ in \\d+ ms$`))
  }
  assert.ok((await latest(page)).includes(new URL(mocks[2].url).host))
  await page.close()
  assert.deepEqual(errors, [])
})

test('paths of other origins and other paths are not the service worker\'s', async (t) => {
  const { mocks, origin } = await startSite(t)
  const { browser } = await startBrowser(t, [])
  const page = await browser.newPage()
  await openReady(page, origin)
  const other = await serveStatic(t, { pages: {} })
  const status = (url) => page.evaluate((url) => fetch(url, { method: 'POST', mode: 'no-cors', body: '{}' }).then(({ type, status }) => `${type} ${status}`), url)
  assert.equal(await status(`${other}/rpc/ethereum`), 'opaque 0')
  assert.equal(await status('/page.js'), 'basic 200')
  assert.equal(mocks.reduce((sum, { counters }) => sum + counters.total, 0), 0)
})
