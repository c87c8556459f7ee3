/** The content client. */

export { createWayfinder, createWayfinderClient } from './create.js';
export { WayfinderEmitter } from './events.js';
export type * from './types.js';
export type { WayfinderURL, WayfinderURLParams } from './url.js';
export { Wayfinder } from './wayfinder.js';
