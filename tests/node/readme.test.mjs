import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { transform } from 'esbuild'
import { IDS, fetchVia, startGateway } from '../support/gateway.mjs'
import { startMocks } from '../support/providers.mjs'

/**
 * Every example of the two README files runs as it is printed, but for this:
 *
 * - each `https://NAME.example…` becomes the address of a mock provider, one for each NAME; in an example of content the
 *   addresses stay, and every host is one mock gateway;
 * - an example that makes no client gets that of the first example of its half in its file;
 * - what a Worker or a service worker listens for is sent to it;
 * - `init()` is handed the module, since Node's `fetch` opens no files;
 * - what an example imports that is not among the development tools is only parsed.
 */
const FILES = ['README.md', 'pkg/README.md']
const root = new URL('../../', import.meta.url)
const tools = JSON.parse(await readFile(new URL('package.json', root), 'utf8')).devDependencies

const EXAMPLE_URL = /https:\/\/([a-z0-9-]+)\.example[^\s'"`;]*/g
const IMPORT = /^\s*import\s+(?:{([^}]*)}\s+from\s+)?'([^']+)'/gm

function blocksOf(markdown, language) {
  const fence = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm')
  return Array.from(markdown.matchAll(fence), ([, code]) => code)
}

const importsOf = (code) =>
  Array.from(code.matchAll(IMPORT), ([, names = '', from]) => ({ from, names: names.split(',').map((name) => name.trim()).filter(Boolean) }))

const packageOf = (specifier) => specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
const isInstalled = ({ from }) => from.startsWith('node:') || Object.hasOwn(tools, packageOf(from))
const makesClient = (code) => /\bcreate(?:Rpc|Wayfinder)Client\(/.test(code)
const isContent = (code) => /wayfinder\b|createWayfinder/.test(code)

/** Gives the examples of one test their gateways: peers of turbo-gateway.com are those that examples name. */
async function startContent(t) {
  const peers = ['https://a.example', 'https://b.example']
  const gateway = await startGateway(t, { names: { ardrive: IDS.site }, peers })
  t.mock.method(globalThis, 'fetch', fetchVia(gateway))
  return gateway
}

/** Gives the examples of one test their providers. */
async function localised(t, code) {
  const names = [...new Set(Array.from(code.matchAll(EXAMPLE_URL), ([, name]) => name))]
  const mocks = await startMocks(t, names.length)
  return code.replace(EXAMPLE_URL, (_, name) => mocks[names.indexOf(name)].url)
}

function resolved(code) {
  const module = JSON.stringify(import.meta.resolve('waypost/wasm'))
  const compiled = `WebAssembly.compile(await (await import('node:fs/promises')).readFile(new URL(${module})))`
  return code
    .replaceAll(IMPORT, (line, _, from) => line.replace(`'${from}'`, `'${import.meta.resolve(from)}'`))
    .replaceAll(/\binit\(\)/g, `init(await ${compiled})`)
}

/** A URL of its own for every run: modules of the same URL are loaded once. */
let runs = 0
// A provider of ethers looks for its network until it finds one: for ever, once the mocks are gone.
const ENDING = "if (typeof provider === 'object') provider.destroy()"
const load = (code) => import(`data:text/javascript,${encodeURIComponent(`${code}\n${ENDING} // ${(runs += 1)}`)}`)

/** Collects what a service worker does with requests for this path. */
function listenAs(t) {
  const listeners = []
  globalThis.addEventListener = (name, listener) => void (name === 'fetch' && listeners.push(listener))
  t.after(() => delete globalThis.addEventListener)
  return async (path) => {
    const answers = []
    const event = { request: new Request(`http://127.0.0.1${path}`), respondWith: (answer) => answers.push(answer) }
    for (const listener of listeners) listener(event)
    return { isListening: listeners.length > 0, answer: await answers[0] }
  }
}

async function assertNames(code) {
  for (const { from, names } of importsOf(code).filter(({ from }) => packageOf(from) === 'waypost')) {
    const exported = await import(from)
    for (const name of names) assert.ok(name in exported, `${from} exports ${name}`)
  }
}

for (const file of FILES) {
  const markdown = await readFile(new URL(file, root), 'utf8')
  const examples = blocksOf(markdown, 'js')
  const firstOf = (isOfHalf) => examples.find(isOfHalf) ?? ''
  const [rpc, content] = [firstOf((code) => !isContent(code)), firstOf(isContent)]

  test(`${file} has examples of both halves, and the first ones make clients`, () => {
    assert.ok(examples.length > 3, `${examples.length} examples`)
    assert.ok(makesClient(rpc) && /^const rpc\b/m.test(rpc), rpc)
    assert.ok(makesClient(content) && /^const wayfinder\b/m.test(content), content)
  })

  examples.forEach((code, index) => {
    test(`${file}: example ${index + 1} of ${examples.length} works as printed`, async (t) => {
      t.mock.method(console, 'log', () => {})
      t.mock.method(console, 'table', () => {})
      await assertNames(code)
      const { warnings } = await transform(code, { format: 'esm', loader: 'js' })
      assert.deepEqual(warnings, [])
      if (!importsOf(code).every(isInstalled)) return
      const whole = makesClient(code) ? code : `${isContent(code) ? content : rpc}\n${code}`
      const visit = listenAs(t)
      const gateway = isContent(code) ? await startContent(t) : undefined
      const { default: handler } = await load(resolved(gateway ? whole : await localised(t, whole)))
      const { isListening, answer } = await visit('/ar/ardrive/')
      if (isListening) assert.equal(answer?.status, 200)
      if (handler?.fetch !== undefined) {
        const [{ url }] = await startMocks(t, 1)
        const response = await handler.fetch(new Request('http://127.0.0.1/ardrive/'), { RPC_URL: url })
        assert.equal(response.status, 200)
      }
      if (gateway) assert.ok(gateway.counters.total > 0, 'something is asked for')
    })
  })

  for (const [index, code] of blocksOf(markdown, 'html').entries()) {
    test(`${file}: what page ${index + 1} imports exists`, () => assertNames(code))
  }
}
