/** What the adapters for libraries have in common. */

import type { RequestOptions } from '../types.js';

/** What every request of the library is to keep to. */
export type AdapterOptions = Omit<RequestOptions, 'signal' | 'parse'>;
