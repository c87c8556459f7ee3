/** For Workers, which take a compiled module and may not compile bytes. */

import wasm from './waypost.wasm';
import { instantiate } from '../../gen/instance.js';
import { provideEngine } from '../engine.js';

provideEngine(() => instantiate(wasm));

export * from '../index.js';
