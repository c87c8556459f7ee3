/** For pages that count bytes: `init()` streams the module from its own file. */

import { Engine, initSync } from '../../gen/waypost.js';
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
  started ??= compile(source).then(
    (module) => {
      initSync({ module });
      provideEngine(Engine);
    },
    (error: unknown) => {
      // A failed download may be tried again.
      started = undefined;
      throw error;
    },
  );
  return started;
}

async function compile(source: URL | string | Response | WebAssembly.Module): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const response = source instanceof Response ? source : await fetch(source);
  const { ok, status, headers } = response;
  if (!ok) throw new Error(`The WebAssembly module cannot be loaded: status ${status}.`);
  // Streaming is refused for any other media type, and not every server knows this one.
  const isDeclared = headers.get('content-type') === 'application/wasm';
  return isDeclared ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

export * from '../index.js';
