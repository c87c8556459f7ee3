import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeProject } from '../lib/package.mjs'
import { run } from '../lib/processes.mjs'
import { tool } from '../lib/tools.mjs'

const WANTED = /^(package\.json|README\.md|LICENSE(-\w+)*|dist\/(\w+\.js|waypost\.wasm|types\/[\w/-]+\.d\.ts))$/

const targetsOf = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(targetsOf))

/** What is in the tarball: all that the manifest names, one module, and nothing else. */
async function contents({ workshop, name }) {
  const project = await makeProject(workshop, name, [])
  const paths = workshop.files.map(({ path }) => path)
  assert.deepEqual(paths.filter((path) => !WANTED.test(path)), [], 'files that nobody needs')
  const { exports, typesVersions = {}, ...manifest } = JSON.parse(
    await readFile(join(project, 'node_modules/waypost/package.json'), 'utf8'),
  )
  const named = targetsOf([exports, typesVersions, manifest.main, manifest.types]).map((path) => path.replace('./', ''))
  assert.deepEqual(named.filter((path) => !paths.includes(path)), [], 'files that are named but missing')
  assert.equal(manifest.dependencies, undefined)
  return paths.filter((path) => path.endsWith('.wasm')).join(', ')
}

const linted = (name, script, args) => ({
  name,
  async run({ workshop }) {
    await run(process.execPath, [tool(script), ...args, workshop.tarball])
    return ''
  },
})

/** The tarball itself. That a package has modules only is no fault: every Node that is supported can `require` them. */
export const CONSUMERS = [
  { name: 'contents', isQuick: true, run: contents },
  linted('publint', 'publint/src/cli.js', ['run', '--strict']),
  linted('attw', '@arethetypeswrong/cli/dist/index.js', ['--ignore-rules', 'cjs-resolves-to-esm', '--']),
]
