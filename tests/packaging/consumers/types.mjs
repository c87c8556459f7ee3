import { makeProject } from '../lib/package.mjs'
import { run } from '../lib/processes.mjs'
import { ownTool, placeOwnTools, placeTools } from '../lib/tools.mjs'

/** A project that `tsc` checks, with the types of its platform put into it by `place`. */
const checked = (name, flags, place, packages) => ({
  name: `typescript-${name}`,
  isQuick: place !== placeTools,
  async run({ workshop, name }) {
    const project = await makeProject(workshop, name, ['types'])
    place?.(project, packages)
    await run(process.execPath, [ownTool('typescript/bin/tsc'), ...flags], { cwd: project })
    return ''
  },
})

/** Users of the types, strict and without `skipLibCheck`: pages, then those without the types of pages. */
export const CONSUMERS = [
  checked('bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']),
  checked('node16', ['--module', 'node16']),
  checked('nodenext', ['--module', 'nodenext']),
  checked('node', ['-p', 'tsconfig.node.json'], placeOwnTools, ['@types/node']),
  checked('workers', ['-p', 'tsconfig.workers.json'], placeTools, ['@cloudflare/workers-types']),
]
