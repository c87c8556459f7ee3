import { CONSUMERS as ADAPTERS } from './adapters.mjs'
import { CONSUMERS as BUNDLERS } from './bundlers.mjs'
import { CONSUMERS as MANIFEST } from './manifest.mjs'
import { CONSUMERS as NEXT } from './next.mjs'
import { CONSUMERS as NODE } from './node.mjs'
import { CONSUMERS as PAGES } from './pages.mjs'
import { CONSUMERS as TYPES } from './types.mjs'
import { CONSUMERS as WORKERS } from './workers.mjs'

/**
 * Everyone who uses the package, each `{ name, isQuick, run(context) }`. The quick ones need nothing beyond what the
 * repository itself has installed.
 */
export const CONSUMERS = [
  ...MANIFEST, ...TYPES, ...NODE, ...PAGES, ...ADAPTERS, ...BUNDLERS, ...WORKERS, ...NEXT,
]
