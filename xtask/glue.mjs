// Turns the generated glue, which knows one instance of the module, into a function that makes one: an instance that
// has panicked cannot be repaired, only replaced.

import { readFile, writeFile } from 'node:fs/promises'

/**
 * What the glue must have, and what becomes of it. Whatever is loaded is compiled before, so its loader goes.
 *
 * @type {[RegExp, string][]}
 */
const CHANGES = [
  [/^export class Engine /m, 'class Engine '],
  [/^async function __wbg_load\([\s\S]*?^}\n/m, ''],
  [/^async function __wbg_init\([\s\S]*?^}\n/m, ''],
  [/^async function __wbg_init_once\([\s\S]*?^}\n/m, ''],
  [/^let __wbg_init_promise;\n/m, ''],
  [/^function initSync\([\s\S]*?^}\n/m, ''],
  [
    /^export \{ initSync, __wbg_init as default \};\n/m,
    '__wbg_finalize_init(new WebAssembly.Instance(module, __wbg_get_imports()), module);\nreturn Engine;\n',
  ],
]

const TYPES = `import type { EngineClass } from '../src/engine.js';

/** Makes an instance of the module; the class lives in it. */
export function instantiate(module: WebAssembly.Module): EngineClass;
`

/** @param {URL} folder where wasm-bindgen has put its files */
export async function makeGlue(folder) {
  let body = await readFile(new URL('waypost.js', folder), 'utf8')
  for (const [pattern, replacement] of CHANGES) {
    if (!pattern.test(body)) throw new Error(`The generated glue has nothing like ${pattern}: xtask/glue.mjs must follow wasm-bindgen.`)
    body = body.replace(pattern, replacement)
  }
  await writeFile(new URL('instance.js', folder), `export function instantiate(module) {\n${body}}\n`)
  await writeFile(new URL('instance.d.ts', folder), TYPES)
}
