// The reference of the package in docs/api, from the types and comments of pkg/src.
//
//     node xtask/docs.mjs            writes it anew
//     node xtask/docs.mjs --check    fails if it is out of date

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/** @param {string} file in the repository */
const path = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url))

const API = path('docs/api')
/** The tools are no part of the development tools: nothing else needs them. */
const tools = createRequire(path('docs/package.json'))

/** @type {{ name: string, from: string, text: string, only?: string }[]} One page each. What several of them export is on the first one. */
const PAGES = [
  { name: 'endpoint', from: 'edge/index.ts', text: 'The endpoint over HTTP, and the stores by which isolates and tabs share what they learn.' },
  { name: 'strategies', from: 'routing/index.ts', text: 'Routing strategies as classes, for both halves.' },
  { name: 'gateways', from: 'gateways/index.ts', text: 'Where gateways come from.' },
  { name: 'content', from: 'wayfinder/index.ts', text: 'The client for `ar://`, its options and events.' },
  { name: 'rpc', from: 'index.ts', text: 'The client for JSON-RPC, its options, metadata, events and errors.' },
  // The converter does not know a function again that has a second name, as `createWayfinder`.
  { name: 'web', from: 'entry/web.ts', only: 'init', text: 'What `waypost/web` has besides.' },
  { name: 'viem', from: 'adapters/viem.ts', text: 'The entry `waypost/viem`.' },
  { name: 'ethers', from: 'adapters/ethers.ts', text: 'The entry `waypost/ethers`.' },
  { name: 'kit', from: 'adapters/kit.ts', text: 'The entry `waypost/kit`.' },
]

/** Writes the pages into a folder. The sources need `pkg/gen`, so build the package first. */
async function generate(/** @type {string} */ folder) {
  if (!existsSync(path('docs/node_modules'))) execFileSync('npm', ['ci'], { cwd: path('docs'), stdio: 'inherit', shell: process.platform === 'win32' })
  const { Application, Comment, Converter } = await import(pathToFileURL(tools.resolve('typedoc')).href)
  const app = await Application.bootstrapWithPlugins({
    name: 'waypost',
    basePath: path('.'),
    entryPoints: PAGES.map(({ from }) => path(`pkg/src/${from}`)),
    tsconfig: path('pkg/tsconfig.json'),
    plugin: [tools.resolve('typedoc-plugin-markdown')],
    logLevel: 'Error',
    readme: 'none',
    // Neither lines nor commits: the pages change with the interface only.
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    excludeReferences: true,
    router: 'module',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    indexFormat: 'table',
    useCodeBlocks: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    propertyMembersFormat: 'table',
  })
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    PAGES.forEach(({ name, text, only }, index) => {
      const page = project.children[index]
      for (const child of page.children.filter((each) => only !== undefined && only !== each.name)) project.removeReflection(child)
      page.name = name
      page.comment = new Comment([{ kind: 'text', text }])
    })
  })
  const project = await app.convert()
  if (project === undefined) throw new Error('The sources in pkg/src do not compile: see above.')
  await app.outputs.writeOutput({ name: 'markdown', path: folder }, project)
}

/** @returns {Promise<Map<string, string>>} the text of each page */
async function pagesIn(/** @type {string} */ folder) {
  const files = existsSync(folder) ? await readdir(folder) : []
  return new Map(await Promise.all(files.map(async (file) => /** @type {const} */ ([file, await readFile(join(folder, file), 'utf8')]))))
}

const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values
const fresh = await mkdtemp(join(tmpdir(), 'waypost-docs-'))
try {
  await generate(fresh)
  const [made, kept] = await Promise.all([pagesIn(fresh), pagesIn(API)])
  const stale = [...new Set([...made.keys(), ...kept.keys()])].filter((file) => made.get(file) !== kept.get(file))
  if (!check) {
    await rm(API, { recursive: true, force: true })
    await cp(fresh, API, { recursive: true })
  } else if (stale.length > 0) {
    console.error(`docs/api is out of date: ${stale.join(', ')}. Write it anew: cargo xtask docs`)
    process.exitCode = 1
  }
} catch (error) {
  console.error(/** @type {Error} */ (error).message)
  process.exitCode = 1
} finally {
  await rm(fresh, { recursive: true })
}
