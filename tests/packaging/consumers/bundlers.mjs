import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { filesIn, makeProject } from '../lib/package.mjs'
import { runPage, withTargets } from '../lib/pages.mjs'
import { run, serve } from '../lib/processes.mjs'
import { freePort } from '../../support/port.mjs'
import { checkFolder } from './pages.mjs'

/** A page that a tool builds into `dist`. The tools run in the Node that runs this. */
const built = (name, fixtures, { tools, command }, wasm = 'inlined') => ({
  name,
  async run(context) {
    const project = await makeProject(context.workshop, name, ['page', ...fixtures], tools)
    await run(process.execPath, command, { cwd: project })
    const site = join(project, 'dist')
    // Those that bundle scripts only leave the page to the user.
    await cp(join(project, 'index.html'), join(site, 'index.html'), { force: false })
    return checkFolder(context, site, { wasm, files: await filesIn(site, '.wasm') })
  },
})

/** A page that a development server of Vite transforms while it is loaded. */
const served = (name, fixtures, { tools, command: [script] }, wasm = 'inlined') => ({
  name,
  async run({ workshop, mocks, scope }) {
    const project = await makeProject(workshop, name, ['page', ...fixtures], tools)
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const command = [script, '--host', '127.0.0.1', '--port', `${port}`, '--strictPort']
    await serve(scope, url, process.execPath, command, { cwd: project })
    return mocks.check([await runPage(await workshop.browser(), withTargets(url, mocks.targets))], { wasm })
  },
})

const VITE_8 = { tools: ['vite'], command: ['node_modules/vite/bin/vite.js', 'build'] }
const VITE_5 = { tools: ['vite-5'], command: ['node_modules/vite-5/bin/vite.js', 'build'] }
const WEBPACK = { tools: ['webpack', 'webpack-cli'], command: ['node_modules/webpack-cli/bin/cli.js', '--mode=production'] }
const ROLLUP = { tools: ['rollup', '@rollup/plugin-node-resolve'], command: ['node_modules/rollup/dist/bin/rollup', '-c'] }

/** Pages that go through a bundler, with what it does by default. */
export const CONSUMERS = [
  built('vite-8-build', [], VITE_8),
  built('vite-8-build-web', ['page-web'], VITE_8, 'streamed'),
  built('vite-8-build-worker', ['dedicated-worker'], VITE_8),
  built('vite-8-build-worker-web', ['dedicated-worker', 'dedicated-worker-web'], VITE_8, 'streamed'),
  served('vite-8-dev', [], VITE_8),
  served('vite-8-dev-web', ['page-web'], VITE_8, 'streamed'),
  served('vite-8-dev-worker', ['dedicated-worker'], VITE_8),
  built('vite-5-build', [], VITE_5),
  built('vite-5-build-web', ['page-web', 'vite-5-web'], VITE_5, 'streamed'),
  served('vite-5-dev', [], VITE_5),
  served('vite-5-dev-web', ['page-web', 'vite-5-web'], VITE_5, 'streamed'),
  built('webpack-5', ['webpack'], WEBPACK),
  built('webpack-5-web', ['page-web', 'webpack'], WEBPACK, 'streamed'),
  built('webpack-5-worker', ['dedicated-worker', 'webpack'], WEBPACK),
  built('rollup-4', ['rollup'], ROLLUP),
]
