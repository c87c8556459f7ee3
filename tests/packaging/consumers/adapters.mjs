import { makeProject } from '../lib/package.mjs'
import { run } from '../lib/processes.mjs'
import { placeOwnTools } from '../lib/tools.mjs'
import { checkBundle } from './pages.mjs'

const LIBRARIES = ['viem', 'ethers', '@solana/kit']
const EXPECTED = { wasm: 'inlined', libraries: { viem: '1', ethers: '100', kit: '345' } }

async function makeAdaptersProject({ workshop, name }, fixture) {
  const project = await makeProject(workshop, name, [fixture, 'adapters'])
  placeOwnTools(project, LIBRARIES)
  return project
}

async function inNode(context) {
  const project = await makeAdaptersProject(context, 'node')
  const { stdout } = await run(process.execPath, ['main.mjs'], { cwd: project, env: { TARGETS: context.mocks.targets } })
  return context.mocks.check([JSON.parse(stdout)], EXPECTED)
}

const inPage = async (context) => checkBundle(context, await makeAdaptersProject(context, 'page'), ['main.js'], EXPECTED)

/** The entries for libraries, with the libraries. */
export const CONSUMERS = [
  { name: 'adapters-node', isQuick: true, run: inNode },
  { name: 'adapters-esbuild', isQuick: true, run: inPage },
]
