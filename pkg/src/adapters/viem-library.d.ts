/** What is used of viem. */

import type { ViemTransport } from './viem.js';

type Made = ReturnType<ViemTransport>;

/** Wraps `request` into viem's filter of methods, repetitions and classes of errors. */
export function createTransport(config: Made['config'], value: Made['value']): Made;
