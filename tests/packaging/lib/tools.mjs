import { copyFileSync, cpSync, linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('../node_modules/', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../node_modules/', import.meta.url))

/** The file of a tool that is installed for the matrix alone. */
export const tool = (path) => join(HERE, path)

/** The file of one of the repository's own tools. */
export const ownTool = (path) => join(ROOT, path)

/** The names of packages with all that they depend on. */
function closure(folder, names) {
  const { packages } = JSON.parse(readFileSync(join(folder, '.package-lock.json'), 'utf8'))
  const found = new Set()
  const visit = (name) => {
    const key = `node_modules/${name}`
    if (found.has(name) || !packages[key]) return
    found.add(name)
    const parts = Object.keys(packages).filter((other) => other === key || other.startsWith(`${key}/`))
    for (const { dependencies, optionalDependencies, peerDependencies } of parts.map((part) => packages[part])) {
      Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).forEach(visit)
    }
  }
  names.forEach(visit)
  return found
}

/** The same tree of files, without doubling them where the file system allows. */
function linkTree(from, to) {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkTree(source, target)
    else if (entry.isSymbolicLink()) cpSync(source, target, { verbatimSymlinks: true })
    else linkFile(source, target)
  }
}

function linkFile(source, target) {
  try {
    linkSync(source, target)
  } catch {
    copyFileSync(source, target)
  }
}

function place(folder, project, names) {
  for (const name of closure(folder, names)) linkTree(join(folder, name), join(project, 'node_modules', name))
}

/** Puts packages of the matrix into the `node_modules` of a project as if they had been installed there. */
export const placeTools = (project, names) => place(HERE, project, names)

/** The same with packages of the repository. */
export const placeOwnTools = (project, names) => place(ROOT, project, names)
