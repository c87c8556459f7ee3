/** For Workers, which take a compiled module and may not compile bytes. */

import wasm from './waypost.wasm';
import { instantiate } from '../../gen/instance.js';
import { provideEngine } from '../engine.js';

// A Worker drops a request with all that it has started, and others would wait for it for ever.
provideEngine(() => instantiate(wasm), true);

export * from '../index.js';
