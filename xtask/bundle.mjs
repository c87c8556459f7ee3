// Bundles the entries of the npm package: what is published is one file per runtime, beside the module.

import { build } from 'esbuild'
import { fileURLToPath } from 'node:url'
import { deflateModule } from './deflate.mjs'
import { makeGlue } from './glue.mjs'

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: fileURLToPath(new URL('../pkg', import.meta.url)),
  bundle: true,
  format: 'esm',
  legalComments: 'none',
  logLevel: 'warning',
  platform: 'neutral',
  target: 'es2022',
}

/** @type {{ from: string, to: string, options?: import('esbuild').BuildOptions }[]} */
const entries = [
  { from: 'src/entry/inline.ts', to: 'dist/index.js', options: { loader: { '.deflate': 'binary' } } },
  { from: 'src/entry/workerd.ts', to: 'dist/workerd.js', options: { external: ['./waypost.wasm'] } },
  { from: 'src/entry/web.ts', to: 'dist/web.js' },
  { from: 'src/adapters/viem.ts', to: 'dist/viem.js', options: { external: ['viem'] } },
  { from: 'src/adapters/ethers.ts', to: 'dist/ethers.js' },
  { from: 'src/adapters/kit.ts', to: 'dist/kit.js' },
  // Without a module: for tests that are wasm themselves and bring their own.
  { from: 'src/shell.ts', to: 'dist/shell.js' },
]

const generated = new URL('../pkg/gen/', import.meta.url)
await Promise.all([makeGlue(generated), deflateModule(generated)])
await Promise.all(
  entries.map(({ from, to, options }) => build({ ...common, ...options, entryPoints: [from], outfile: to })),
)
