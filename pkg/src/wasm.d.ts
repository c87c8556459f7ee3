/** The module as compressed bytes (inlined by the bundler) and as a module (imported by Workers). */

declare module '*/waypost_bg.deflate' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

declare module '*/waypost.wasm' {
  const module: WebAssembly.Module;
  export default module;
}
