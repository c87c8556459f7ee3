import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** Examples in doc comments are what an editor shows: each compiles in strict TypeScript, with what it takes for granted. */
const SOURCES = fileURLToPath(new URL('../../pkg/src/', import.meta.url))
/** Not exported: the example is for contributors. */
const INTERNAL = ['cached.ts']
/** Not among the development tools, or a matter of course. */
const GIVEN = {
  rpc: 'W.RpcClient', client: 'W.RpcClient', first: 'W.RpcClient', third: 'W.RpcClient',
  second: 'W.RpcClient & string', best: 'string',
  providers: 'string[]', chains: 'Record<string, W.ChainOptions>',
  wayfinder: 'W.Wayfinder', gatewaysProvider: 'W.GatewaysProvider', few: 'W.GatewaysProvider', many: 'W.GatewaysProvider',
  ARIO: '{ mainnet(): W.ARIORead }',
  env: '{ STATE: W.DurableNamespace<unknown> & W.KvNamespace }', ctx: 'W.ExecutionContext',
  mainnet: "typeof import('viem/chains').mainnet", createConfig: "typeof import('@wagmi/core').createConfig", waypost: "typeof import('waypost/viem').waypost",
  sleep: '(ms: number) => Promise<void>',
  readFile: "typeof import('node:fs/promises').readFile", writeFile: "typeof import('node:fs/promises').writeFile",
}

/** The examples of one source. */
function examplesOf(source) {
  const comments = Array.from(source.matchAll(/\/\*\*[^]*?\*\//g), ([comment]) => comment.slice(3, -2).replaceAll(/^\s*\* ?/gm, ''))
  return comments.flatMap((comment) => Array.from(comment.matchAll(/@example[^\n]*\n([^]*?)(?=^@|$(?![^]))/gm), ([, code]) => code.trim()))
}

/** Declares globally what the package exports, and what is given. */
async function globals() {
  const exported = Object.keys(await import('waypost')).map((name) => `const ${name}: typeof W.${name}`)
  const given = Object.entries(GIVEN).map(([name, type]) => `const ${name}: ${type}`)
  return `import * as W from 'waypost'\ndeclare global {\n${[...exported, ...given].join('\n')}\n}\n`
}

/** What is wrong with each file, by its name. */
function compiled(files) {
  const options = {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: ['node'],
    strict: true, noEmit: true, skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.getSourceFile = (name, target) =>
    files.has(name) ? ts.createSourceFile(name, files.get(name), target) : getSourceFile(name, target)
  const program = ts.createProgram([...files.keys()], options, host)
  return (name) => {
    const file = program.getSourceFile(name)
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  }
}

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const examples = []
for (const source of (await readdir(SOURCES, { recursive: true })).sort()) {
  if (!source.endsWith('.ts') || INTERNAL.includes(source)) continue
  const found = examplesOf(await readFile(join(SOURCES, source), 'utf8'))
  found.forEach((code, index) => examples.push({ title: `${source}: example ${index + 1} compiles`, name: here(`doc-${examples.length}.mts`), code }))
}
const files = new Map(examples.map(({ name, code }) => [name, `${code}\nexport {}\n`]))
const errorsOf = compiled(files.set(here('doc-globals.mts'), await globals()))

test('doc comments have examples, and what they take for granted is well declared', () => {
  assert.ok(examples.length > 30, `${examples.length} examples`)
  assert.deepEqual(errorsOf(here('doc-globals.mts')), [])
})

for (const { title, name, code } of examples) test(title, () => assert.deepEqual(errorsOf(name), [], code))
