import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, Server } from 'node:http'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import { transform } from 'esbuild'
import { createRpcClient, createRpcHandler, WaypostState } from 'waypost'
import { curl } from '../support/curl.mjs'
import { IDS, fetchVia, startGateway } from '../support/gateway.mjs'
import { anchorsOf, blocksOf, commandsOf, curlsOf, linksOf, sidesOf } from '../support/markdown.mjs'
import { providersOf, startMocks } from '../support/providers.mjs'

/**
 * Every example of the documents runs as it is printed, but for this:
 *
 * - each `https://NAME.example…` becomes the address of a mock provider, one for each NAME; in an example of content the
 *   addresses stay, and every host is one mock gateway;
 * - an example that makes no client gets that of the first example of its half in its file, one of the endpoint the handler
 *   of the last example before it;
 * - of a change, the lines before and the lines after are an example each;
 * - what a Worker, a server or a service worker listens for is sent to it; the bindings of a Worker are mock providers;
 * - `Bun` and `Deno` stand for the runtimes, and servers of Node listen on any free port;
 * - `init()` is handed the module, since Node's `fetch` opens no files;
 * - wagmi is its core, and React a stand-in that calls a hook once;
 * - what an example imports that is not among the development tools is only parsed.
 */
const READMES = ['README.md', 'pkg/README.md']
const root = new URL('../../', import.meta.url)
const FILES = [...READMES, ...(await readdir(new URL('docs/', root))).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)]
const tools = JSON.parse(await readFile(new URL('package.json', root), 'utf8')).devDependencies

const EXAMPLE_URL = /https:\/\/([a-z0-9-]+)\.example[^\s'"`;]*/g
const IMPORT = /^\s*import\s+(?:{([^}]*)}\s+from\s+)?'([^']+)'/gm

const REACT = 'export const useSyncExternalStore = (subscribe, get) => (subscribe(() => {})(), get()); export const useMemo = (make) => make()'
const STAND_INS = { react: `data:text/javascript,${encodeURIComponent(REACT)}`, wagmi: '@wagmi/core', 'wagmi/chains': '@wagmi/core/chains' }
const standIn = (from) => STAND_INS[from] ?? from
/** Its import replaces the global `Promise`, for all tests after it. */
const MEDDLING = '@ar.io/wayfinder-core'

const importsOf = (code) =>
  Array.from(code.matchAll(IMPORT), ([, names = '', from]) => ({ from, names: names.split(',').map((name) => name.trim()).filter(Boolean) }))

const TOKEN = 'a-token'
/** Of servers in the examples. */
const PORT = 4000

const packageOf = (specifier) => specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
const isInstalled = (from) => /^(node|data):/.test(from) || (from !== MEDDLING && Object.hasOwn(tools, packageOf(from)))
const makesClient = (code) => /\bcreate(?:Rpc|Wayfinder)Client\(/.test(code)
const isContent = (code) => /wayfinder\b|createWayfinder/.test(code)
const isEndpoint = (code) => /\bcreateRpcHandler\(|\bhandler\.fetch\(/.test(code)
const keepsHandler = (code) => /^const handler = createRpcHandler\(/m.test(code)

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
  const mocks = await startMocks(t, names.length, { getSlot: 16 })
  return code.replace(EXAMPLE_URL, (_, name) => mocks[names.indexOf(name)].url)
}

function resolved(code) {
  const module = JSON.stringify(import.meta.resolve('waypost/wasm'))
  const compiled = `WebAssembly.compile(await (await import('node:fs/promises')).readFile(new URL(${module})))`
  return code
    .replaceAll(IMPORT, (line, _, from) => line.replace(`'${from}'`, `'${import.meta.resolve(standIn(from))}'`))
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

/** What an example serves: each a `fetch(request)`. */
function serversOf(t) {
  const servers = []
  const serve = (...given) => void servers.push(given.find((each) => typeof each === 'function') ?? given[0].fetch)
  Object.assign(globalThis, { Bun: { serve }, Deno: { serve } })
  t.after(() => {
    delete globalThis.Bun
    delete globalThis.Deno
  })
  const { listen } = Server.prototype
  t.mock.method(Server.prototype, 'listen', function listenAnywhere(...given) {
    if (given[0] !== PORT) return listen.apply(this, given)
    t.after(() => this.close())
    t.after(() => this.closeAllConnections())
    const listening = once(this, 'listening')
    servers.push(async (request) => {
      await listening
      const { pathname } = new URL(request.url)
      const init = { method: request.method, headers: request.headers, body: await request.text() }
      return fetch(`http://127.0.0.1:${this.address().port}${pathname}`, init)
    })
    return listen.call(this, 0, '127.0.0.1')
  })
  return servers
}

/** Calls an endpoint as its users do. */
async function assertEndpoint(serve) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'eth_blockNumber', params: [] })
  const response = await serve(new Request('http://127.0.0.1/rpc/ethereum', { method: 'POST', headers, body }))
  assert.deepEqual([response.status, await response.json()], [200, { jsonrpc: '2.0', id: 7, result: '0x10' }])
}

/** A namespace of Durable Objects that has one, without storage. */
function durableObjects() {
  const storage = { list: async () => new Map(), put: async () => {}, delete: async () => {} }
  const object = new WaypostState({ storage })
  return { idFromName: (name) => name, get: () => ({ fetch: (url, init) => object.fetch(new Request(url, init)) }) }
}

/** Bindings of a Worker: URLs of a mock provider, and the text that stands for a token. */
async function bindings(t) {
  const [{ url }] = await startMocks(t, 1)
  return { RPC_URL: url, ALCHEMY_URL: url, INFURA_URL: url, TOKEN, LW_BETA: '2', STATE: durableObjects() }
}

async function assertNames(code) {
  for (const { from, names } of importsOf(code).filter(({ from }) => packageOf(from) === 'waypost')) {
    const exported = await import(from)
    for (const name of names) assert.ok(name in exported, `${from} exports ${name}`)
  }
}

/** The examples of a document, each with a name. */
const examplesOf = (markdown) => [
  ...blocksOf(markdown, 'js').map((code, index) => ({ name: `example ${index + 1}`, code })),
  ...blocksOf(markdown, 'diff').flatMap((diff, index) => Object.entries(sidesOf(diff)).map(([side, code]) => ({ name: `change ${index + 1}, ${side}`, code }))),
]

async function assertWorks(t, code, made) {
  t.mock.method(console, 'log', () => {})
  t.mock.method(console, 'table', () => {})
  await assertNames(code)
  const { warnings } = await transform(code, { format: 'esm', loader: 'js' })
  assert.deepEqual(warnings, [])
  if (!importsOf(code).every(({ from }) => isInstalled(standIn(from)))) return
  const whole = makesClient(code) ? code : `${made}\n${code}`
  const visit = listenAs(t)
  const servers = serversOf(t)
  const gateway = isContent(code) ? await startContent(t) : undefined
  const { default: handler, ...others } = await load(resolved(gateway ? whole : await localised(t, whole)))
  for (const [name, hook] of Object.entries(others)) if (/^use[A-Z]/.test(name)) assert.ok(hook(), name)
  const { isListening, answer } = await visit('/ar/ardrive/')
  if (isListening) assert.equal(answer?.status, 200)
  if (handler?.fetch !== undefined) {
    const env = await bindings(t)
    if (isEndpoint(code)) servers.push((request) => handler.fetch(request, env))
    else assert.equal((await handler.fetch(new Request('http://127.0.0.1/ardrive/'), env)).status, 200)
  }
  for (const serve of servers) await assertEndpoint(serve)
  if (gateway) assert.ok(gateway.counters.total > 0, 'something is asked for')
}

for (const file of FILES) {
  const markdown = await readFile(new URL(file, root), 'utf8')
  const examples = examplesOf(markdown)
  const firstOf = (isOfHalf) => blocksOf(markdown, 'js').find(isOfHalf) ?? ''
  const [rpc, content] = [firstOf((code) => !isContent(code)), firstOf(isContent)]
  const handlerBefore = (index) => examples.slice(0, index).findLast(({ code }) => keepsHandler(code))?.code ?? ''

  if (READMES.includes(file)) {
    test(`${file} has examples of both halves, and the first ones make clients`, () => {
      assert.ok(examples.length > 3, `${examples.length} examples`)
      assert.ok(makesClient(rpc) && /^const rpc\b/m.test(rpc), rpc)
      assert.ok(makesClient(content) && /^const wayfinder\b/m.test(content), content)
    })
  }

  examples.forEach(({ name, code }, index) => {
    const made = isEndpoint(code) ? handlerBefore(index) : isContent(code) ? content : rpc
    test(`${file}: ${name} works as printed`, (t) => assertWorks(t, code, made))
  })

  for (const [index, code] of blocksOf(markdown, 'html').entries()) {
    test(`${file}: what page ${index + 1} imports exists`, () => assertNames(code))
  }
}

for (const file of [...FILES, 'CHANGELOG.md', 'CONTRIBUTING.md', 'DESIGN.md', 'RELEASING.md']) {
  const at = new URL(file, root)
  const markdown = await readFile(at, 'utf8')

  test(`${file}: every link leads somewhere`, async () => {
    for (const target of linksOf(markdown).filter((link) => !/^[a-z]+:/.test(link))) {
      const { href, hash } = new URL(target, at)
      const page = new URL(href.replace(hash, ''))
      assert.ok(existsSync(page), target)
      if (hash !== '') assert.ok(anchorsOf(await readFile(page, 'utf8')).includes(hash.slice(1)), target)
    }
  })

  test(`${file}: every command of cargo xtask exists`, async () => {
    const commands = await readFile(new URL('xtask/src/main.rs', root), 'utf8')
    for (const name of commandsOf(markdown)) assert.match(commands, new RegExp(`\\["${name}"`), name)
  })
}

/** Where the documents have an endpoint. */
const WORKER = 'https://rpc.example.workers.dev'

/** Serves an endpoint to programs; resolves to its address. */
async function startEndpoint(t) {
  const providers = providersOf(await startMocks(t))
  const { fetch } = createRpcHandler(createRpcClient({ chains: { ethereum: { chainId: 1, providers } } }))
  const server = createServer(async (incoming, outgoing) => {
    const { url, method, headers } = incoming
    const response = await fetch(new Request(`http://127.0.0.1${url}`, { method, headers, body: await text(incoming) }))
    outgoing.writeHead(response.status).end(await response.text())
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

for (const file of FILES) {
  const lines = curlsOf(await readFile(new URL(file, root), 'utf8')).filter((line) => line.includes(WORKER))
  if (lines.length === 0) continue
  test(`${file}: what curl sends is answered`, async (t) => {
    const address = await startEndpoint(t)
    for (const line of lines) assert.equal(JSON.parse(await curl(line.replace(WORKER, address))).result, '0x10', line)
  })
}
