/** For Workers, which take a compiled module and may not compile bytes. */

import wasm from './waypost.wasm';
import { Engine, initSync } from '../../gen/waypost.js';
import { provideEngine } from '../engine.js';

initSync({ module: wasm });
provideEngine(Engine);

export * from '../index.js';
