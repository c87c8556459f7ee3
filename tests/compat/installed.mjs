import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../target/compat/', import.meta.url))

/** Imports a package from where `cargo xtask compat` installed it: target/compat, or a folder in it. */
export function importInstalled(name, folder = '.') {
  const { resolve } = createRequire(join(FOLDER, folder, 'package.json'))
  return import(pathToFileURL(resolve(name)).href)
}
