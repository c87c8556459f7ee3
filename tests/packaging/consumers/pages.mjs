import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { filesIn, makeProject } from '../lib/package.mjs'
import { runPage, serveFolder, withTargets } from '../lib/pages.mjs'
import { run } from '../lib/processes.mjs'
import { ownTool } from '../lib/tools.mjs'

/** Opens the page that is in this folder and checks what it reports. */
export async function checkFolder({ workshop, mocks, scope }, folder, expected, mounted = {}) {
  const origin = await serveFolder(scope, folder, mounted)
  const report = await runPage(await workshop.browser(), withTargets(`${origin}/`, mocks.targets))
  return mocks.check([report], expected)
}

/** A page as it is, served beside the files of the package. */
const plain = (name, fixtures, wasm) => ({
  name,
  isQuick: true,
  async run(context) {
    const project = await makeProject(context.workshop, name, ['page', 'plain', ...fixtures])
    return checkFolder(context, project, { wasm }, { waypost: join(project, 'node_modules/waypost/dist') })
  },
})

/** Bundles the scripts of a project by esbuild, opens its page and checks what it reports. */
export async function checkBundle(context, project, args, expected = { wasm: 'inlined' }) {
  await run(ownTool('.bin/esbuild'), [...args, '--bundle', '--outdir=dist'], { cwd: project })
  const site = join(project, 'dist')
  await cp(join(project, 'index.html'), join(site, 'index.html'))
  return checkFolder(context, site, { ...expected, files: await filesIn(site, '.wasm') })
}

const bundled = (name, fixtures, args) => ({
  name,
  isQuick: true,
  run: async (context) => checkBundle(context, await makeProject(context.workshop, name, ['page', ...fixtures]), args),
})

/** Pages that need no tool but esbuild. */
export const CONSUMERS = [
  plain('plain-page', [], 'inlined'),
  plain('plain-page-web', ['page-web'], 'streamed'),
  bundled('esbuild', [], ['main.js']),
  bundled('dedicated-worker', ['dedicated-worker'], ['main.js', 'worker.js', '--format=esm']),
  bundled('service-worker', ['service-worker'], ['main.js', 'service-worker.js']),
]
