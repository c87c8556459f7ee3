import assert from 'node:assert/strict'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const FILE = fileURLToPath(new URL('../types/everywhere.ts', import.meta.url))
const { Bundler, Node10 } = ts.ModuleResolutionKind
const PAGE = ['lib.es2022.d.ts', 'lib.dom.d.ts']

/** Projects of users, beside the one of `tests/types`. */
const PROJECTS = {
  'a page that goes through a bundler': { moduleResolution: Bundler, lib: PAGE },
  'a page with the module resolution of old': { moduleResolution: Node10, lib: PAGE },
  'a service worker': { moduleResolution: Bundler, lib: ['lib.es2022.d.ts', 'lib.webworker.d.ts'] },
}

for (const [name, options] of Object.entries(PROJECTS)) {
  test(`the declarations of all entries compile in ${name}, with those of libraries checked`, () => {
    const program = ts.createProgram([FILE], {
      ...options,
      exactOptionalPropertyTypes: true,
      module: ts.ModuleKind.ES2022,
      noEmit: true,
      skipLibCheck: false,
      strict: true,
      target: ts.ScriptTarget.ES2022,
      types: [],
    })
    const problems = ts.getPreEmitDiagnostics(program)
    const texts = problems.map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
    assert.deepEqual(texts, [])
  })
}
