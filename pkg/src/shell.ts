/** The shell without an engine, for tests that bring their own. */

export * from './index.js';
export { provideEngine } from './engine.js';
