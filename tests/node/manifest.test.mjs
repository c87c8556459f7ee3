import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

const run = promisify(execFile)
const folder = new URL('../../pkg/', import.meta.url)
const manifest = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'))

/** The package as npm would publish it. */
async function pack(t) {
  const place = await mkdtemp(path.join(tmpdir(), 'waypost-'))
  t.after(() => rm(place, { recursive: true }))
  const options = { cwd: fileURLToPath(folder), shell: process.platform === 'win32' }
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], options)
  const [{ filename, files }] = JSON.parse(stdout)
  return { tarball: new Uint8Array(await readFile(path.join(place, filename))), files: files.map((file) => file.path) }
}

const targets = (entry) => (typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(targets))

test('what is packed is what the manifest names, and both linters find nothing in it', async (t) => {
  const { tarball, files } = await pack(t)
  const named = [manifest.main, manifest.types, manifest.sideEffects, Object.values(manifest.exports).flatMap(targets)].flat()
  assert.deepEqual(named.filter((file) => !files.includes(file.slice(2))), [])
  assert.ok(!files.some((file) => /shell\.js$|^src|^gen/.test(file)), 'only what users need')
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true })
  assert.deepEqual(messages.map((message) => formatMessage(message, pkg)), [])
  const { types, problems } = await checkPackage(createPackageFromTarballData(tarball))
  assert.deepEqual(types, { kind: 'included' })
  // There is no CommonJS: who requires the package needs a Node that can, or import().
  const rest = problems.filter(({ kind, resolutionKind }) => kind !== 'CJSResolvesToESM' || resolutionKind !== 'node16-cjs')
  assert.deepEqual(rest, [])
})

test('the package brings nothing with it', () => {
  assert.equal(manifest.dependencies, undefined)
  const required = Object.keys(manifest.peerDependencies).filter((name) => !manifest.peerDependenciesMeta[name]?.optional)
  assert.deepEqual(required, [])
})

for (const [entry, external] of Object.entries({ viem: ['viem'], ethers: [], kit: [] })) {
  test(`waypost/${entry} is a file of its own and imports ${external[0] ?? 'nothing'}`, async () => {
    const { metafile, outputFiles } = await build({
      bundle: true, entryPoints: [fileURLToPath(import.meta.resolve(`waypost/${entry}`))], external, format: 'esm', metafile: true, minify: true, write: false,
    })
    const [{ imports }] = Object.values(metafile.outputs)
    assert.deepEqual(imports.map((each) => each.path), external)
    assert.equal(Object.keys(metafile.inputs).length, 1)
    assert.ok(outputFiles[0].contents.length < 2048, `${outputFiles[0].contents.length} bytes`)
  })
}
