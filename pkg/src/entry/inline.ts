/** For everyone: the module is in this file and compiled when it loads. */

import { Engine, initSync } from '../../gen/waypost.js';
import bytes from '../../gen/waypost_bg.wasm';
import { provideEngine } from '../engine.js';

initSync({ module: bytes });
provideEngine(Engine);

export * from '../index.js';
