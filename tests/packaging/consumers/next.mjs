import assert from 'node:assert/strict'
import { join } from 'node:path'
import { filesIn, makeProject } from '../lib/package.mjs'
import { runPage, withTargets } from '../lib/pages.mjs'
import { run, serve } from '../lib/processes.mjs'
import { freePort } from '../../support/port.mjs'

const NEXT = 'node_modules/next/dist/bin/next'

/** Builds an application and asks it in each of the places where its code may run. `copies` of the package are in its server. */
const application = (name, fixtures, flags, copies) => ({
  name,
  async run({ workshop, mocks, scope }) {
    const project = await makeProject(workshop, name, fixtures, ['next', 'react', 'react-dom'])
    await run(process.execPath, [NEXT, 'build', ...flags], { cwd: project })
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const at = (path) => withTargets(`${origin}${path}`, mocks.targets)
    await serve(scope, `${origin}/favicon.ico`, process.execPath, [NEXT, 'start', '-H', '127.0.0.1', '-p', `${port}`], { cwd: project })

    const open = async (path) => runPage(await workshop.browser(), at(path))
    const call = async (path) => (await fetch(at(path))).json()
    const reports = { server: await open('/'), client: await open('/client'), node: await call('/api/node') }
    // Page and route run in one process, whose count goes on.
    assert.equal(reports.node.wasm.compiled, copies)
    reports.node.wasm = reports.server.wasm
    if (fixtures.includes('next-edge')) reports.edge = await call('/api/edge')
    return mocks.check(Object.values(reports), { wasm: 'inlined', files: await filesIn(join(project, '.next'), '.wasm') })
  },
})

/** Next.js: server component, client component, route in Node and at the edge. Its webpack cannot build any edge route. */
export const CONSUMERS = [
  application('next-16', ['next', 'next-edge'], [], 2),
  application('next-16-webpack', ['next'], ['--webpack'], 1),
]
