import { makeProject } from '../lib/package.mjs'
import { run } from '../lib/processes.mjs'
import { tool } from '../lib/tools.mjs'

const OWN = process.versions.node.split('.')[0]
const binaries = {
  ...Object.fromEntries(['22', '24'].map((major) => [major, tool(`node-${major}/bin/node`)])),
  [OWN]: process.execPath,
}

/** Runs a script of the fixture in a runtime without pages. */
async function runScript({ workshop, name, mocks }, command, { wasm = 'inlined', hasTimeline = true }) {
  const project = await makeProject(workshop, name, ['node'])
  const { stdout } = await run(command[0], command.slice(1), { cwd: project, env: { TARGETS: mocks.targets } })
  return mocks.check([JSON.parse(stdout)], { wasm, hasTimeline })
}

const script = (name, isQuick, command, expected = {}) => ({
  name, isQuick, run: (context) => runScript(context, command, expected),
})

const nodes = Object.entries(binaries).flatMap(([major, binary]) => [
  script(`node-${major}-import`, major === OWN, [binary, 'main.mjs']),
  script(`node-${major}-require`, major === OWN, [binary, 'main.cjs']),
])

const deno = [tool('.bin/deno'), 'run', '--no-prompt', '--allow-net=127.0.0.1', '--allow-env=TARGETS']
const bun = [tool('.bin/bun'), 'run']

/** Runtimes without pages. */
export const CONSUMERS = [
  ...nodes,
  script('deno', false, [...deno, 'main.mjs']),
  script('deno-web', false, [...deno, '--allow-read=node_modules', 'web.mjs'], { wasm: 'streamed', hasTimeline: false }),
  script('bun', false, [...bun, 'main.mjs']),
  script('bun-web', false, [...bun, 'web.mjs'], { wasm: 'streamed', hasTimeline: false }),
]
