import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { needs, startBrowser, watchErrors } from '../support/browser.mjs'

const SERVER = fileURLToPath(import.meta.resolve('../../www/serve.mjs'))
const PROVIDERS = ['swift', 'steady', 'distant', 'erratic']
const FAULTS = ['down', 'hangs', 'error500', 'limit429', 'slow', 'html']
const AA = 4.5
const STEERED = needs('init scripts')

const cleanups = []
let browser
before(async () => { ({ browser } = await startBrowser({ after: (cleanup) => cleanups.push(cleanup) }, [])) })
after(async () => { for (const cleanup of cleanups.reverse()) await cleanup() })

const spawnServer = (port) =>
  spawn(process.execPath, [SERVER, '--port', `${port}`], { stdio: ['ignore', 'pipe', 'pipe'] })

async function startDemo(t) {
  const server = spawnServer(0)
  t.after(() => server.kill())
  const [line] = await once(createInterface(server.stdout), 'line')
  assert.match(line, /^Waypost demo: http:\/\/127\.0\.0\.1:\d+\/$/)
  return { server, url: line.split(' ').at(-1) }
}

/** Opens the page with a record of the client's events. Whatever the page itself does wrong fails the test. */
async function openDemo(t, { width = 1200, colorScheme = 'light', clock = false } = {}) {
  const { server, url } = await startDemo(t)
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme })
  const page = await context.newPage()
  const errors = watchErrors(page)
  page.on('console', (message) => {
    // The browser reports each failure of a mock by itself; of the page's own files none may be missing.
    const isMock = message.text().startsWith('Failed to load resource') && !message.location().url.startsWith(url)
    const isGone = server.exitCode !== null && message.text().includes('ERR_CONNECTION_REFUSED')
    if (message.type() === 'error' && !isMock && !isGone) errors.push(message.text())
  })
  if (clock) await page.clock.install()
  await page.addInitScript(() => {
    const seen = { requests: [], attempts: [], violations: [] }
    document.addEventListener('securitypolicyviolation', ({ violatedDirective }) => seen.violations.push(violatedDirective))
    let demo
    Object.defineProperty(window, 'waypostDemo', {
      get: () => demo,
      set: (value) => {
        demo = value
        demo.rpc.on('request', (event) => seen.requests.push(event))
        demo.rpc.on('attempt', (event) => seen.attempts.push(event))
      },
    })
    Object.assign(window, { seen })
  })
  await page.goto(url)
  await page.waitForFunction(() => window.waypostDemo)
  t.after(async () => {
    const violations = await page.evaluate(() => window.seen.violations)
    await context.close()
    assert.deepEqual([...errors, ...violations], [])
  })
  return { page, server, url }
}

const setRate = (page, id) => page.locator(`#traffic-${id}`).check({ force: true })
const switchTo = async (page, id, mode) => {
  const button = page.locator(`[data-provider=${id}] [data-mode=${mode}]`)
  await button.click()
  await page.waitForFunction((element) => element.getAttribute('aria-pressed') === 'true', await button.elementHandle())
}
const field = (page, id, name) => page.locator(`[data-provider=${id}] [data-field=${name}]`)
const endedAtLeast = (page, count) => page.waitForFunction((least) => window.seen.requests.length >= least, count)
const endMore = async (page, count) => endedAtLeast(page, count + await page.evaluate(() => window.seen.requests.length))

/** Stops the traffic and waits until the page has drawn all that came of it. */
async function settle(page) {
  await setRate(page, 'off')
  await page.waitForFunction(() => {
    const drawn = document.querySelector('[data-total=ended]')?.textContent?.replaceAll(',', '')
    return window.waypostDemo.rpc.status().openRequests === 0 && drawn === `${window.seen.requests.length}`
  })
}

/** The page's texts and the client's own account of the same moment. */
const compare = (page, method, strategy) => page.evaluate(({ method, strategy }) => {
  const { rpc } = window.waypostDemo
  const texts = (selector, key) =>
    Object.fromEntries([...document.querySelectorAll(selector)].map((element) => [element.dataset[key], element.textContent]))
  return {
    cards: Object.fromEntries([...document.querySelectorAll('[data-provider]')].map((card) =>
      [card.dataset.provider, texts(`[data-provider=${card.dataset.provider}] [data-field]`, 'field')])),
    totals: texts('[data-total]', 'total'),
    rows: [...document.querySelectorAll('#requests > li')].map((row) => row.textContent),
    statuses: rpc.status().profiles.default[Object.keys(rpc.status().profiles.default)[0]].providers,
    explanations: rpc.explain({ method, strategy }),
    seen: window.seen,
  }
}, { method, strategy })

const millis = (ms) => (ms === null || ms === undefined ? '–' : `${Math.round(ms).toLocaleString('en')} ms`)
const percent = (ratio) => `${Math.round(ratio * 100)} %`

test('the page works as soon as it is loaded', async (t) => {
  const { url } = await startDemo(t)
  const page = await browser.newPage()
  const errors = watchErrors(page)
  await page.goto(url)
  const read = (name) => page.evaluate((name) => document.querySelector(`[data-total=${name}]`).textContent, name)
  await page.waitForFunction(() => Number(document.querySelector('[data-total=answered]')?.textContent) >= 10)
  assert.equal(await read('failed'), '0')
  await page.close()
  assert.deepEqual(errors, [])
})

test('what the page shows is what the client says', STEERED, async (t) => {
  const { page } = await openDemo(t)
  await page.selectOption('#strategy', 'load_balanced')
  await setRate(page, 'brisk')
  await endMore(page, 12)
  await page.selectOption('#method', { label: 'eth_call that reverts' })
  await endMore(page, 12)
  await settle(page)

  const { cards, totals, rows, statuses, explanations, seen } = await compare(page, 'eth_call', 'load_balanced')
  assert.deepEqual(Object.keys(cards), PROVIDERS)
  for (const status of statuses) {
    const { text, rank, share } = explanations.find(({ provider }) => provider === status.id)
    const mine = seen.attempts.filter(({ provider }) => provider === status.id).length
    const { effect, ...shown } = cards[status.id]
    assert.equal(effect, 'Mock: answers at its own pace.')
    assert.deepEqual(shown, {
      rank: `rank ${rank}`,
      text,
      circuit: 'closed',
      limit: 'none',
      resting: 'no',
      methodLatency: millis(status.methods.find(({ method }) => method === 'eth_call')?.latencyMs),
      latency: millis(status.latencyMs),
      success: `${percent(status.successRate)} of ${status.calls}`,
      chance: percent(share),
      share: `${percent(mine / seen.attempts.length)} (${mine} of ${seen.attempts.length})`,
    })
  }
  const { requests } = seen
  const sorted = requests.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share) => millis(sorted[Math.ceil(sorted.length * share) - 1])
  assert.deepEqual(totals, {
    ended: `${requests.length}`, answered: `${requests.length}`, failed: '0', median: at(0.5), p95: at(0.95), attempts: '1.00',
  })
  assert.equal(rows.length, 20)
  for (const [index, row] of rows.entries()) {
    const { method, outcome, ms, attempts: [{ provider, class: word = 'success', ms: attemptMs }] } = requests.at(-1 - index)
    const outcomeText = outcome === 'error' ? 'answered with an error' : 'answered'
    assert.equal(row.slice('hh:mm:ss'.length), `${method}${outcomeText}${millis(ms)}✓ ${provider} ${word} ${millis(attemptMs)}`)
  }
})

test('a provider that fails loses its traffic, gets it back when it is healed, and no request fails', STEERED, async (t) => {
  const { page } = await openDemo(t, { clock: true })
  await page.selectOption('#strategy', 'priority')
  await setRate(page, 'brisk')
  await endMore(page, 5)
  await switchTo(page, 'swift', 'error500')
  await field(page, 'swift', 'circuit').filter({ hasText: /^open, half-open in \d+\.\d s$/ }).waitFor()
  assert.match(await field(page, 'swift', 'text').innerText(), /^Excluded: its breaker is open/)
  assert.match(await page.locator('#events').innerText(), /swift: breaker open/)

  const before = await page.evaluate(() => window.seen.attempts.length)
  await endMore(page, 10)
  await settle(page)
  const during = await page.evaluate((start) => window.seen.attempts.slice(start), before)
  assert.deepEqual([...new Set(during.map(({ provider }) => provider))], ['steady'])

  await page.locator('#heal-all').click()
  await page.clock.fastForward(15_000)
  await field(page, 'swift', 'circuit').filter({ hasText: /^half-open$/ }).waitFor()
  await setRate(page, 'brisk')
  await field(page, 'swift', 'circuit').filter({ hasText: /^closed$/ }).waitFor()
  await field(page, 'swift', 'rank').filter({ hasText: /^rank 1$/ }).waitFor()
  await endMore(page, 5)
  await settle(page)
  const { requests } = await page.evaluate(() => window.seen)
  assert.deepEqual(requests.slice(-3).map(({ provider }) => provider), ['swift', 'swift', 'swift'])
  assert.deepEqual(requests.filter(({ outcome }) => outcome !== 'success'), [])
  assert.equal(await page.locator('[data-total=failed]').innerText(), '0')
})

for (const mode of FAULTS) {
  test(`no request fails while the first provider is switched to ${mode}`, STEERED, async (t) => {
    const { page } = await openDemo(t)
    await page.selectOption('#strategy', 'priority')
    await switchTo(page, 'swift', mode)
    await setRate(page, 'brisk')
    await endMore(page, 12)
    await settle(page)
    const { attempts, requests } = await page.evaluate(() => window.seen)
    assert.deepEqual(requests.filter(({ outcome }) => outcome !== 'success'), [])
    const classes = new Set(attempts.filter(({ provider }) => provider === 'swift').map(({ class: word }) => word))
    const expected = { down: 'network', hangs: 'timeout', error500: 'server', limit429: 'rate_limit', slow: undefined, html: 'server' }
    assert.ok(classes.has(expected[mode]), `swift met ${[...classes].join(', ')}`)
  })
}

test('a single request shows its result, and where it came from', STEERED, async (t) => {
  const { page } = await openDemo(t)
  await setRate(page, 'off')
  await page.selectOption('#method', { label: 'eth_chainId' })
  await page.selectOption('#strategy', 'priority')
  await page.locator('#send-one').click()
  await page.locator('#sent').filter({ hasText: /^"0x7a69" \(swift, [\d,]+ ms\)$/ }).waitFor()
})

test('nothing is sent while the page is hidden', STEERED, async (t) => {
  const { page } = await openDemo(t, { clock: true })
  await setRate(page, 'brisk')
  await endMore(page, 3)
  const setHidden = (isHidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { get: () => value, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
  await setHidden(true)
  await page.waitForFunction(() => window.waypostDemo.rpc.status().openRequests === 0)
  const sent = await page.evaluate(() => window.seen.attempts.length)
  await page.clock.runFor(5_000)
  assert.deepEqual(
    await page.evaluate(() => [window.seen.attempts.length, window.waypostDemo.rpc.status().openRequests]), [sent, 0])
  await setHidden(false)
  await endMore(page, 3)
})

for (const colorScheme of ['light', 'dark']) {
  const steered = colorScheme === 'dark' ? needs('init scripts', 'color schemes') : STEERED
  test(`on a narrow ${colorScheme} screen nothing is cut off, and every text can be read`, steered, async (t) => {
    const { page } = await openDemo(t, { width: 360, colorScheme })
    await page.selectOption('#method', { label: 'eth_getBlockByNumber' })
    await setRate(page, 'brisk')
    await switchTo(page, 'swift', 'error500')
    await switchTo(page, 'erratic', 'limit429')
    await field(page, 'erratic', 'limit').filter({ hasText: /^for / }).waitFor()
    await page.locator('#send-one').click()
    await page.locator('#sent').filter({ hasText: '(' }).waitFor()
    const { scrollWidth, colors, unnamed } = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement)
      const names = ['ground', 'surface', 'tint', 'ink', 'muted', 'accent', 'on-accent', 'bad', 'warn']
      return {
        scrollWidth: document.documentElement.scrollWidth,
        colors: Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)])),
        unnamed: [...document.querySelectorAll('button, select, input')].filter((element) =>
          !(element.textContent?.trim() || element.labels?.length)).length,
      }
    })
    assert.ok(scrollWidth <= 360, `${scrollWidth} px wide`)
    assert.equal(unnamed, 0)
    const pairs = [
      ...['ink', 'muted', 'accent', 'bad', 'warn'].flatMap((ink) => [[ink, 'ground'], [ink, 'surface']]),
      ['ink', 'tint'], ['on-accent', 'accent'],
    ]
    for (const [ink, ground] of pairs) {
      const ratio = contrast(colors[ink], colors[ground])
      assert.ok(ratio >= AA, `${ink} on ${ground}: ${ratio.toFixed(2)}`)
    }
  })
}

/** Of WCAG 2: from 1 to 21. */
function contrast(one, other) {
  const [dark, light] = [one, other].map((hex) => {
    const [red, green, blue] = hex.match(/[\da-f]{2}/gi).map((pair) => {
      const value = parseInt(pair, 16) / 255
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }).sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** Begins a request whose body never ends. */
async function leaveUnfinished(t, url) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  // The server says so once it has read the head.
  socket.write(`PUT /mocks/swift HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`)
  const [data] = await once(socket, 'data')
  assert.match(data.toString(), /^HTTP\/1\.1 100 /)
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  const options = { timeout: 30_000, ...STEERED }
  test(`the server ends at ${signal}, whoever still waits for it, and the page says that it is gone`, options, async (t) => {
    const { page, server, url } = await openDemo(t)
    const { mocks: [{ url: mockUrl }] } = await (await fetch(new URL('mocks', url))).json()
    await Promise.all([url, mockUrl].map((each) => leaveUnfinished(t, each)))
    const exit = once(server, 'exit')
    server.kill(signal)
    assert.deepEqual(await exit, [0, null])
    await page.locator('#heal-all').click()
    await page.locator('#notice').filter({ hasText: 'The server of this demo does not answer.' }).waitFor()
  })
}

test('a port that is taken is refused in one sentence that says what to do', async (t) => {
  const { url } = await startDemo(t)
  const second = spawnServer(new URL(url).port)
  const [errors, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')])
  assert.equal(code, 1)
  assert.match(errors, /^Port \d+ cannot be used \(EADDRINUSE\)\. Choose another one: --port 0 takes any that is free\.\n$/)
})
