/** Keys are bindings of the Worker: the profiles only name them, as `${NAME}`. */

function read(env, name) {
  const value = env[name]
  if (typeof value === 'string' && value !== '') return value
  throw new Error(`A profile needs \${${name}}, which is not set: wrangler secret put ${name}, or a line in .dev.vars.`)
}

/**
 * Puts the bindings into all texts of an object.
 *
 * @template T
 * @param {T} options
 * @param {Record<string, unknown>} env
 * @returns {T}
 * @throws Error a binding is missing; it names which
 */
export function fillIn(options, env) {
  return JSON.parse(JSON.stringify(options), (_, value) =>
    typeof value === 'string' ? value.replace(/\$\{(\w+)\}/g, (_, name) => read(env, name)) : value,
  )
}
