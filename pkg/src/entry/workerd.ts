/** For Workers, which take a compiled module and may not compile bytes. */

import wasm from './waypost.wasm';
import { EndpointDraft, Engine, initSync } from '../../gen/waypost.js';
import { provideEngine } from '../engine.js';

initSync({ module: wasm });
provideEngine({ Engine, EndpointDraft });

export * from '../index.js';
