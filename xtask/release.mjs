// The rehearsal of a release: node xtask/release.mjs --dry-run [--skip-crate]. Nothing is published here: RELEASING.md says how.

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { stopWith } from './arguments.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (/** @type {string} */ file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const manifest = JSON.parse(read('pkg/package.json'))

/** What may be in the package besides what `exports` names. */
const EXPECTED = [/^package\.json$/, /^README\.md$/, /^LICENSE(-[A-Z]+)*$/, /^dist\/[\w.-]+\.js$/, /^dist\/waypost\.wasm$/, /^dist\/types\/.+\.d\.ts$/]
const LICENSES = ['LICENSE-APACHE', 'LICENSE-MIT']

/** The versions that must agree, by where they stand. */
function versions() {
  const first = (/** @type {string} */ file, /** @type {RegExp} */ pattern) => read(file).match(pattern)?.[1] ?? 'missing'
  return {
    'pkg/package.json': manifest.version,
    'package-lock.json': JSON.parse(read('package-lock.json')).packages.pkg?.version ?? 'missing',
    'Cargo.toml': first('Cargo.toml', /^\[package\][^[]*?^version = "(.*)"/m),
    'Cargo.lock': first('Cargo.lock', /^name = "waypost"\nversion = "(.*)"/m),
    'CHANGELOG.md': first('CHANGELOG.md', /^## \[(\d.*?)\]/m),
  }
}

/** @typedef {{ wrong: string[], note?: string }} Finding */

/** @returns {Finding} */
function checkVersions() {
  const found = versions()
  const wrong = Object.entries(found).filter(([, version]) => version !== manifest.version)
  return { wrong: wrong.map(([file, version]) => `${file} has ${version}, and pkg/package.json ${manifest.version}`), note: manifest.version }
}

/** @returns {Finding} */
function checkChangelog() {
  const [, version, rest] = read('CHANGELOG.md').match(/^## \[(\d.*?)\](.*)$/m) ?? []
  const isDated = /^ - \d{4}-\d\d-\d\d$/.test(rest ?? '')
  return { wrong: isDated ? [] : [`the heading of ${version} in CHANGELOG.md has no date`] }
}

/** @returns {Finding} */
function checkTree() {
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
  return { wrong: changed.length === 0 ? [] : [`${changed.length} files are changed or not committed: ${changed[0]?.slice(3)}${changed.length > 1 ? ' and so on' : ''}`] }
}

/** The files that `exports` and the older fields lead to. */
function entries() {
  const targets = (/** @type {unknown} */ value) => (typeof value === 'string' ? [value] : Object.values(/** @type {object} */ (value)).flatMap(targets))
  return [...new Set([manifest.main, manifest.types, ...targets(manifest.exports)])].map((file) => file.replace('./', ''))
}

/** @returns {Finding} */
function checkPackage() {
  // Signing is for CI alone, and npm would refuse it here before it looks at anything else.
  const { status, stdout, stderr } = spawnSync('npm', ['publish', '--dry-run', '--json', '--provenance=false'], {
    cwd: fileURLToPath(new URL('../pkg', import.meta.url)),
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status !== 0) return { wrong: [`npm publish --dry-run failed: ${lastLines(stderr)}`] }
  const answer = JSON.parse(stdout)
  const { files, size, unpackedSize } = answer[manifest.name] ?? answer
  const packed = files.map((/** @type {{ path: string }} */ { path }) => path)
  const missing = [...entries(), ...LICENSES, 'README.md'].filter((file) => !packed.includes(file))
  const strange = packed.filter((/** @type {string} */ file) => !EXPECTED.some((pattern) => pattern.test(file)))
  return {
    wrong: [...missing.map((file) => `the package lacks ${file}`), ...strange.map((/** @type {string} */ file) => `the package has ${file}`)],
    note: `${packed.length} files, ${Math.round(size / 1000)} KB packed, ${Math.round(unpackedSize / 1000)} KB unpacked`,
  }
}

/** @returns {Finding} */
function checkCrate() {
  const { status, stderr } = spawnSync('cargo', ['publish', '--dry-run', '--allow-dirty', '--package', 'waypost'], { cwd: ROOT, encoding: 'utf8' })
  return { wrong: status === 0 ? [] : [`cargo publish --dry-run failed: ${lastLines(stderr)}`], note: stderr.match(/Packaged (.*)/)?.[1] }
}

/** @returns {Finding} */
function checkProvenance() {
  if (manifest.publishConfig?.provenance !== true) return { wrong: ['publishConfig.provenance of pkg/package.json is not true'] }
  if (manifest.repository === undefined) return { wrong: ['pkg/package.json has no repository, which a provenance must name'] }
  const canSign = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined || process.env['SIGSTORE_ID_TOKEN'] !== undefined
  return { wrong: [], note: canSign ? 'npm can sign here' : 'to be had in CI only: this machine has no identity to sign with' }
}

const lastLines = (/** @type {string} */ text) => text.trim().split('\n').slice(-3).join(' ')

function options() {
  try {
    return parseArgs({ options: { 'dry-run': { type: 'boolean' }, 'skip-crate': { type: 'boolean' } } }).values
  } catch (error) {
    return stopWith(`${/** @type {Error} */ (error).message} The options are --dry-run and --skip-crate.`)
  }
}

const { 'dry-run': isDry, 'skip-crate': isWithoutCrate } = options()
if (!isDry) stopWith('Only a rehearsal can be had here: add --dry-run. RELEASING.md says how to publish.')

/** @type {[name: string, check: () => Finding][]} */
const checks = [
  ['versions', checkVersions],
  ['changelog', checkChangelog],
  ['working tree', checkTree],
  ['package', checkPackage],
  ['crate', isWithoutCrate ? () => ({ wrong: [], note: 'left out' }) : checkCrate],
  ['provenance', checkProvenance],
]
for (const [name, check] of checks) {
  const { wrong, note } = check()
  console.log(`${wrong.length === 0 ? 'ok   ' : 'WRONG'} ${name}${note === undefined ? '' : `: ${note}`}`)
  for (const each of wrong) console.log(`      ${each}`)
  if (wrong.length > 0) process.exitCode = 1
}
