/** For pages that count bytes: `init()` streams the module from its own file. */

import initGlue, { Engine } from '../../gen/waypost.js';
import { provideEngine } from '../engine.js';

let started: Promise<void> | undefined;

/**
 * Loads the module, once. Call it before anything else.
 *
 * @param source where the module is, or the module itself; default: `waypost.wasm` beside this file
 *
 * @example
 * import { createRpcClient, init } from 'waypost/web'
 * await init()
 */
export function init(source: URL | string | Response | WebAssembly.Module = new URL('./waypost.wasm', import.meta.url)): Promise<void> {
  started ??= initGlue({ module_or_path: source }).then(
    () => provideEngine(Engine),
    (error: unknown) => {
      // A failed download may be tried again.
      started = undefined;
      throw error;
    },
  );
  return started;
}

export * from '../index.js';
