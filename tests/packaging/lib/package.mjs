import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './processes.mjs'
import { placeTools } from './tools.mjs'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url))

/**
 * Packs the package and installs it, by npm, in an empty project: what that makes is the same for everyone. Both are in a scratch
 * folder that ends with `scope`.
 */
export async function pack(scope, { keep = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'waypost-packaging-'))
  if (!keep) scope.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  const { stdout } = await run('npm', ['pack', './pkg', '--pack-destination', folder, '--json'], { cwd: ROOT })
  const [{ filename, files, size, unpackedSize }] = JSON.parse(stdout)
  const installed = join(folder, 'installed')
  await cp(join(FIXTURES, 'shared'), installed, { recursive: true })
  await run('npm', ['install', `../${filename}`, '--offline', '--no-package-lock', '--no-audit', '--no-fund'], { cwd: installed })
  return { folder, installed, tarball: join(folder, filename), files, size, unpackedSize }
}

/**
 * A project as a user has it: the package, and the named fixtures laid over each other. The tools that are named are there
 * too, with all they depend on.
 */
export async function makeProject({ folder, installed }, name, fixtures, tools) {
  const project = join(folder, name)
  const layers = [installed, ...fixtures.map((fixture) => join(FIXTURES, fixture))]
  for (const layer of layers) await cp(layer, project, { recursive: true, verbatimSymlinks: true })
  if (tools !== undefined) placeTools(project, tools)
  return project
}

/** The files under a folder whose names end so, relative to it. */
export async function filesIn(folder, ending) {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => name.endsWith(ending)).sort()
}
