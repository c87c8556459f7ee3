/** The module in its own file, as it comes out of an import where WebAssembly is imported compiled: in Workers. */

/** `WebAssembly.Module`, wherever the compiler knows of it: the types of Node do not. */
export type WasmModule = typeof globalThis extends { WebAssembly: { Module: new (...args: never) => infer Module } } ? Module : object;

declare const module: WasmModule;
export default module;
