// The shell on a module that can be told to panic. `cargo xtask test` builds the module.

import { readFile } from 'node:fs/promises'
import { makeGlue } from '../../xtask/glue.mjs'

const FOLDER = new URL('../../target/panicking/', import.meta.url)

/**
 * Loads the package's shell with engines that panic on demand.
 *
 * `bomb.on` names the method of the engine that panics next, `bomb.frames` how much stack it has used by then.
 */
export async function loadPanicking() {
  await makeGlue(FOLDER)
  const { instantiate } = await import(new URL('instance.js', FOLDER).href)
  const module = await WebAssembly.compile(await readFile(new URL('waypost_bg.wasm', FOLDER)))
  const shell = await import('../../pkg/dist/shell.js')
  const bomb = { on: '', frames: 0 }
  const counts = { instances: 0, freed: 0 }
  shell.provideInstances(() => {
    counts.instances++
    return armed(instantiate(module), bomb, counts)
  })
  return { ...shell, bomb, counts }
}

function armed(Engine, bomb, counts) {
  class Armed extends Engine {
    free() {
      super.free()
      counts.freed++
    }
  }
  for (const name of Object.getOwnPropertyNames(Engine.prototype)) {
    const method = Object.getOwnPropertyDescriptor(Engine.prototype, name)?.value
    if (typeof method !== 'function' || ['constructor', 'free', 'forcePanic'].includes(name)) continue
    Armed.prototype[name] = function (...parameters) {
      if (bomb.on === name) {
        bomb.on = ''
        this.forcePanic(bomb.frames)
      }
      return method.apply(this, parameters)
    }
  }
  return Armed
}
