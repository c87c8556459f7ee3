/** For everyone: the module is in this file, compressed, and compiled when a client is made. */

import { inflateSync } from 'fflate';
import { instantiate } from '../../gen/instance.js';
import packed from '../../gen/waypost_bg.deflate';
import { provideEngine } from '../engine.js';

let module: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  const out = new Uint8Array(new DataView(packed.buffer).getUint32(0, true));
  return new WebAssembly.Module(inflateSync(packed.subarray(4), { out }) as Uint8Array<ArrayBuffer>);
}

provideEngine(() => instantiate((module ??= compile())));

export * from '../index.js';
