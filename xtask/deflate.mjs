// Compresses the module for the entry that carries it: in Base64 nothing can compress it any more.

import zopfli from '@gfx/zopfli'
import { readFile, writeFile } from 'node:fs/promises'

/** More rounds gain nothing. */
const OPTIONS = { numiterations: 15 }

/** @param {URL} folder where the module is */
export async function deflateModule(folder) {
  const module = await readFile(new URL('waypost_bg.wasm', folder))
  // Its size comes first, so that there is no buffer to grow.
  const size = new Uint8Array(new Uint32Array([module.length]).buffer)
  const deflated = await zopfli.deflateAsync(module, OPTIONS)
  await writeFile(new URL('waypost_bg.deflate', folder), Buffer.concat([size, deflated]))
}
