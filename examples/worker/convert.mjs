/** `node convert.mjs`: makes profiles.json, the options of Waypost, of the profiles in Lasso's YAML. */

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parseAllDocuments } from 'yaml'

/** What may be written at each place; what is true is used, the rest has no counterpart here. */
const KEYS = {
  front: { slug: true, name: false, logo: false, rps_limit: false, burst_limit: false, unlisted: false },
  body: { chains: true },
  chain: {
    chain_id: true, aliases: true, url_aliases: true, providers: true,
    name: false, block_time_ms: false, monitoring: false, selection: false, websocket: false, 'ui-topology': false,
  },
  provider: {
    id: true, url: true, priority: true, sharing_mode: true, api_key: true, headers: true, auth_headers: true, capabilities: true,
    name: false, ws_url: false, archival: false, subscribe_new_heads: false,
  },
  capabilities: { unsupported_categories: true, unsupported_methods: true, limits: true, error_rules: true },
  limits: { max_block_range: true, max_block_age: false, block_age_methods: false },
  rule: { code: true, message_contains: true, category: true },
}

const CATEGORIES = {
  debug: ['debug_*'],
  trace: ['trace_*'],
  txpool: ['txpool_*'],
  eip4844: ['eth_blobBaseFee'],
  filters: [
    'eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter',
    'eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter',
  ],
}

const CLASSES = {
  rate_limit: 'rate_limit',
  auth_error: 'auth',
  capability_violation: 'capability',
  requires_archival: 'capability',
  method_not_found: 'capability',
  method_error: 'capability',
  client_error: 'caller',
  invalid_params: 'caller',
  parse_error: 'caller',
  server_error: 'server',
  internal_error: 'server',
  network_error: 'network',
  chain_error: 'unknown',
  unknown_error: 'unknown',
}

/** The object at a place of a file, if it is one and has no key that nobody knows. */
function checked(value, kind, place) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${place} must be a mapping.`)
  for (const key of Object.keys(value)) look(KEYS[kind], key, `${place}.${key}`)
  return value
}

/** What a table has for a word. */
function look(table, word, place) {
  if (Object.hasOwn(table, word)) return table[word]
  throw new Error(`${place}: "${word}" is not known. There are: ${Object.keys(table).join(', ')}.`)
}

function convertRule(given, place) {
  const { code, message_contains: messageContains, category } = checked(given, 'rule', place)
  return { code, messageContains, class: look(CLASSES, category, `${place}.category`) }
}

function convertProvider(given, place) {
  const { id, url, priority, sharing_mode, api_key, headers, auth_headers, capabilities = {} } = checked(given, 'provider', place)
  const at = `${place}.capabilities`
  const { unsupported_categories = [], unsupported_methods = [], limits = {}, error_rules = [] } = checked(capabilities, 'capabilities', at)
  const byCategory = unsupported_categories.flatMap((word) => look(CATEGORIES, word, `${at}.unsupported_categories`))
  return {
    id,
    url,
    priority,
    quotaGroup: sharing_mode === 'isolated' ? id : undefined,
    headers: { ...(api_key && { authorization: `Bearer ${api_key}` }), ...headers, ...auth_headers },
    capabilities: {
      unsupportedMethods: [...byCategory, ...unsupported_methods],
      maxBlockRange: checked(limits, 'limits', `${at}.limits`).max_block_range,
    },
    errorRules: error_rules.map((rule, index) => convertRule(rule, `${at}.error_rules[${index}]`)),
  }
}

function convertChain(given, place) {
  const { chain_id: chainId, aliases = [], url_aliases = [], providers = [] } = checked(given, 'chain', place)
  const converted = providers.map((provider, index) => convertProvider(provider, `${place}.providers[${index}]`))
  return { chainId, aliases: [...new Set([...aliases, ...url_aliases])], providers: converted }
}

/**
 * Converts one profile.
 *
 * @param {string} text front matter and body, both YAML
 * @param {string} slug the name of its file, which its front matter must repeat
 * @returns {object} the options of the profile, with `${NAME}` where they were
 * @throws Error something is wrong; it says where
 */
export function convertProfile(text, slug) {
  const [front, body] = parseAllDocuments(text).map((document) => {
    const [error] = document.errors
    if (error) throw new Error(`${slug}: ${error.message}`)
    return document.toJS()
  })
  const { slug: named } = checked(front, 'front', slug)
  if (named !== slug) throw new Error(`${slug}: the slug is "${named}", but the file is called ${slug}.`)
  const { chains } = checked(body, 'body', slug)
  return { chains: Object.fromEntries(Object.entries(chains).map(([key, chain]) => [key, convertChain(chain, `${slug}.chains.${key}`)])) }
}

/** Converts all profiles of a folder: `{ slug: options }`. */
export async function convertFolder(folder) {
  const files = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort()
  const entries = files.map(async (file) => {
    const slug = basename(file).replace(/\.ya?ml$/, '')
    return [slug, convertProfile(await readFile(join(folder, file), 'utf8'), slug)]
  })
  return Object.fromEntries(await Promise.all(entries))
}

if (process.argv[1] === import.meta.filename) {
  const profiles = await convertFolder(join(import.meta.dirname, 'profiles'))
  await writeFile(join(import.meta.dirname, 'profiles.json'), `${JSON.stringify(profiles, null, 2)}\n`)
}
