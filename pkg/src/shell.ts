/** The shell without an engine, for tests that bring their own. */

import { provideEngine as provide } from './engine.js';
import type { EngineClass } from './engine.js';

export * from './index.js';

/** Takes a class that lives in one instance of the module. */
export function provideEngine(engine: EngineClass): void {
  provide(() => engine);
}

/** Takes what makes instances, as the entries do. */
export { provide as provideInstances };
