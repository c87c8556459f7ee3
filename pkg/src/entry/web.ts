/** For pages that count bytes: `init()` streams the module from its own file. */

import { instantiate } from '../../gen/instance.js';
import type { WasmModule } from './wasm.js';
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
 *
 * @throws what `fetch` or the compiler throws; an `Error` if there is no module at the address
 */
export function init(source: URL | string | Response | WasmModule = new URL('./waypost.wasm', import.meta.url)): Promise<void> {
  started ??= compile(source).then(
    (module) => {
      provideEngine(() => instantiate(module));
    },
    (error: unknown) => {
      // A failed download may be tried again.
      started = undefined;
      throw error;
    },
  );
  return started;
}

async function compile(source: URL | string | Response | WasmModule): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const response = source instanceof Response ? source : await fetch(source);
  const { ok, status, headers } = response;
  const type = headers.get('content-type') ?? '';
  if (!ok || type.includes('html')) {
    throw new Error(
      `The WebAssembly module cannot be loaded: the answer has status ${status} and the type "${type}". ` +
        "Pass the URL of waypost.wasm; in Vite up to 7: import url from 'waypost/wasm?url', then await init(url).",
    );
  }
  // Streaming is refused for any other media type, and not every server knows this one.
  return type === 'application/wasm' ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

export * from '../index.js';
