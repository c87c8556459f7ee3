import { createRequire } from 'node:module'
import { join } from 'node:path'
import { filesIn, makeProject } from '../lib/package.mjs'
import { withTargets } from '../lib/pages.mjs'
import { run, serve } from '../lib/processes.mjs'
import { ownTool, tool } from '../lib/tools.mjs'
import { freePort } from '../../support/port.mjs'

// A tool here brings another version of it.
const { Miniflare } = createRequire(new URL('../../../package.json', import.meta.url))('miniflare')
const NODE_22 = tool('node-22/bin/node')
const WRANGLER = 'node_modules/wrangler/bin/wrangler.js'
const VITE = 'node_modules/vite/bin/vite.js'

/** Asks a Worker and checks what it reports. */
async function checkWorker({ mocks }, url, files) {
  const response = await fetch(withTargets(url, mocks.targets))
  const text = await response.text()
  if (!response.ok) throw new Error(`the Worker answered ${response.status}: ${text}`)
  return mocks.check([JSON.parse(text)], { wasm: 'imported', files })
}

/** Starts a server in the project and asks the Worker behind it. */
async function checkServer(context, project, command, files) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const address = command.includes(VITE) ? ['--host', '127.0.0.1', '--strictPort'] : ['--ip', '127.0.0.1', '--inspector-port', '0']
  await serve(context.scope, url, NODE_22, [...command, ...address, '--port', `${port}`], { cwd: project })
  return checkWorker(context, url, files)
}

async function miniflare(context) {
  const project = await makeProject(context.workshop, context.name, ['worker'])
  // What wrangler does, which needs a newer Node than the repository.
  const bundling = ['--bundle', '--format=esm', '--conditions=workerd,worker,browser', '--loader:.wasm=copy', '--outdir=dist']
  await run(ownTool('.bin/esbuild'), ['worker.js', ...bundling], { cwd: project })
  const site = join(project, 'dist')
  const worker = new Miniflare({
    modules: true,
    modulesRoot: site,
    scriptPath: join(site, 'worker.js'),
    modulesRules: [{ type: 'ESModule', include: ['**/*.js'] }, { type: 'CompiledWasm', include: ['**/*.wasm'] }],
    compatibilityDate: '2025-01-01',
  })
  context.scope.after(() => worker.dispose())
  return checkWorker(context, (await worker.ready).href, await filesIn(site, '.wasm'))
}

async function wrangler(context) {
  const project = await makeProject(context.workshop, context.name, ['worker'], ['wrangler'])
  await run(NODE_22, [WRANGLER, 'deploy', '--dry-run', '--outdir', 'dist'], { cwd: project })
  return checkServer(context, project, [WRANGLER, 'dev'], await filesIn(join(project, 'dist'), '.wasm'))
}

const cloudflareProject = ({ workshop, name }) =>
  makeProject(workshop, name, ['worker', 'cloudflare-vite'], ['vite', 'wrangler', '@cloudflare/vite-plugin'])

async function viteBuild(context) {
  const project = await cloudflareProject(context)
  await run(NODE_22, [VITE, 'build'], { cwd: project })
  return checkServer(context, project, [VITE, 'preview'], await filesIn(join(project, 'dist'), '.wasm'))
}

const viteDev = async (context) => checkServer(context, await cloudflareProject(context), [VITE, 'dev'])

/** Cloudflare Workers, in the runtime that they are deployed to. */
export const CONSUMERS = [
  { name: 'miniflare', isQuick: true, run: miniflare },
  { name: 'wrangler', run: wrangler },
  { name: 'cloudflare-vite-build', run: viteBuild },
  { name: 'cloudflare-vite-dev', run: viteDev },
]
