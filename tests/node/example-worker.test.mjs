/** The example of a Worker as it is deployed; only the providers' hosts are played by mocks. */

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { fillIn } from '../../examples/worker/bindings.js'
import { convertProfile } from '../../examples/worker/convert.mjs'
import { mockProviders } from '../../xtask/mock-providers.mjs'
import { curl, readPrinted } from '../support/curl.mjs'
import { startWorker } from '../support/worker.mjs'

const KEYS = { ALCHEMY_API_KEY: 'key-of-alchemy', INFURA_API_KEY: 'key-of-infura' }
const PATHS = { alchemy: '/v2/key-of-alchemy', infura: '/v3/key-of-infura', publicnode: '/' }
const DOCUMENTED = await readFile(new URL('../vectors/lasso-curl.txt', import.meta.url), 'utf8')
const CALL = '{"jsonrpc":"2.0","method":"web3_clientVersion","params":[],"id":"a"}'

/** What the lines of Lasso's documentation ask for, in their order. */
const WANTED = [
  { strategy: 'load_balanced' },
  { strategy: 'fastest' },
  { strategy: 'latency_weighted' },
  { provider: 'alchemy' },
  { provider: 'alchemy' },
  { provider: 'alchemy' },
  { provider: 'alchemy' },
  { strategy: 'load_balanced' },
  { strategy: 'load_balanced' },
  { strategy: 'fastest', profile: 'testnet', chain: 'base' },
]

/** `asked` collects who is asked for what. */
async function startExample(t, bindings = KEYS) {
  const asked = []
  const observe = (mock, request) => asked.push({ ...mock, path: new URL(request.url).pathname, headers: request.headers })
  // The profiles are converted when the Worker starts, the mocks look them up at the first request.
  let answer
  const outboundService = async (request) => (await (answer ??= mockProviders(observe)))(request)
  return { ...(await startWorker(t, { example: 'worker', bindings, options: { outboundService } })), asked }
}

const post = (body, headers = {}) => ({ method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
const decoded = (header) => JSON.parse(Buffer.from(header, 'base64url').toString())

test('every curl line of Lasso\'s documentation works', async (t) => {
  const { url, asked } = await startExample(t)
  const lines = DOCUMENTED.trim().split('\n\n')
  assert.equal(lines.length, WANTED.length)
  for (const [index, documented] of lines.entries()) {
    const { strategy, provider, profile = 'default', chain = 'ethereum' } = WANTED[index]
    const line = documented.replace('http://localhost:4000', url)
    assert.notEqual(line, documented)

    await t.test(documented, async () => {
      asked.length = 0
      const printed = await curl(line)
      const body = line.endsWith(' -i') ? readPrinted(printed).body : printed
      const { jsonrpc, id, result, error } = JSON.parse(body)
      assert.deepEqual([jsonrpc, id, error], ['2.0', 1, undefined])
      assert.match(result, /^0x[0-9a-f]+$/)
      const [only, ...more] = asked
      assert.deepEqual([only.profile, only.chain, more.length], [profile, chain, 0])
      assert.equal(only.path, PATHS[only.id])
      if (provider) assert.equal(only.id, provider)

      const { status, headers } = readPrinted(await curl(`${line} -i -H 'X-Lasso-Include-Meta: headers'`))
      assert.equal(status, 200)
      assert.equal(headers.get('content-type'), 'application/json')
      // A query weighs more than the header.
      if (line.includes('include_meta=body')) return assert.equal(headers.get('x-lasso-meta'), null)
      const meta = decoded(headers.get('x-lasso-meta'))
      assert.deepEqual([meta.profile, meta.chain, meta.selected_provider.id], [profile, chain, asked.at(-1).id])
      if (strategy) assert.equal(meta.strategy, strategy)
    })
  }
})

test('metadata comes in headers or in the body, where it is asked for, and pages may read it', async (t) => {
  const { dispatch, asked } = await startExample(t)
  const inHeaders = await dispatch('/rpc/ethereum?include_meta=headers', post(CALL, { origin: 'https://page.test' }))
  const exposed = inHeaders.headers.get('access-control-expose-headers').toLowerCase()
  for (const name of ['x-lasso-request-id', 'x-lasso-meta']) assert.ok(exposed.includes(name), `${exposed} has ${name}`)
  const encoded = inHeaders.headers.get('x-lasso-meta')
  assert.match(encoded, /^[\w-]+$/)
  const { request_id, transport, retries, circuit_breaker_state } = decoded(encoded)
  assert.deepEqual([transport, retries, circuit_breaker_state], ['http', 0, 'closed'])
  assert.equal(inHeaders.headers.get('x-lasso-request-id'), request_id)
  assert.deepEqual(Object.keys(await inHeaders.json()).sort(), ['id', 'jsonrpc', 'result'])

  const inBody = await (await dispatch('/rpc/fastest/base?include_meta=body', post(CALL))).json()
  assert.equal(inBody.id, 'a')
  assert.equal(inBody.result, `mock/${inBody.lasso_meta.selected_provider.id}/base/default`)
  assert.deepEqual([inBody.lasso_meta.strategy, inBody.lasso_meta.selected_provider.id], ['fastest', asked.at(-1).id])
  const plain = await dispatch('/rpc/ethereum', post(CALL))
  assert.deepEqual([...plain.headers.keys()].filter((name) => name.startsWith('x-lasso')), [])
})

test('each profile has its own chains, providers and measurements', async (t) => {
  const { dispatch } = await startExample(t)
  const chains = async (profile) => (await (await dispatch(`/api/chains?profile=${profile}`)).json()).chains.map(({ chain_id }) => chain_id)
  assert.deepEqual(await chains('default'), [1, 8453])
  assert.deepEqual(await chains('testnet'), [11_155_111, 84_532])
  for (const provider of ['alchemy', 'infura', 'publicnode']) {
    const { result } = await (await dispatch(`/rpc/profile/testnet/sepolia/${provider}`, post(CALL))).json()
    assert.equal(result, `mock/${provider}/ethereum/testnet`)
  }
  const calls = async (profile) =>
    (await (await dispatch(`/api/metrics/ethereum?profile=${profile}`)).json()).providers.map(({ total_calls }) => total_calls)
  assert.deepEqual([await calls('testnet'), await calls('default')], [[1, 1, 1], [0, 0, 0]])
})

test('what a profile says that a provider cannot do is not asked of it', async (t) => {
  const { dispatch, asked } = await startExample(t)
  for (let times = 0; times < 8; times += 1) {
    await dispatch('/rpc/ethereum', post('{"jsonrpc":"2.0","method":"debug_traceTransaction","params":[],"id":1}'))
  }
  assert.ok(asked.length >= 8)
  assert.ok(asked.every(({ id }) => id !== 'publicnode'))
})

test('neither keys nor hosts of providers are in any answer', async (t) => {
  const { dispatch } = await startExample(t)
  const requests = [['/rpc/ethereum/alchemy?include_meta=body', post(CALL)], ['/rpc/nowhere', post(CALL)], ['/api/chains'], ['/api/metrics/ethereum']]
  for (const [path, init] of requests) {
    const text = await (await dispatch(path, init)).text()
    assert.doesNotMatch(text, /key-of-|g\.alchemy|infura\.io|publicnode\.com/, path)
  }
})

test('Lasso\'s variables are taken from the bindings', async (t) => {
  for (const [LW_BETA, status] of [['3.5', 200], ['much', 500]]) {
    const { dispatch } = await startExample(t, { ...KEYS, LW_BETA })
    assert.equal((await dispatch('/rpc/latency-weighted/ethereum', post(CALL))).status, status)
  }
})

const PROFILE = `
---
name: Everything
slug: all
rps_limit: 100
---
chains:
  ethereum:
    chain_id: 1
    name: Ethereum
    aliases: [mainnet]
    url_aliases: [mainnet, eth]
    block_time_ms: 12000
    monitoring: { probe_interval_ms: 12000 }
    ui-topology: { color: "#627EEA" }
    providers:
      - id: one
        name: One
        url: https://one.example/\${ONE_KEY}
        ws_url: wss://one.example
        priority: 2
        archival: false
        sharing_mode: isolated
        api_key: \${ONE_KEY}
        headers: { x-team: a }
        capabilities:
          unsupported_categories: [debug]
          unsupported_methods: [eth_getProof]
          limits: { max_block_range: 1000, max_block_age: 128 }
          error_rules:
            - { code: 35, message_contains: [slow down], category: rate_limit }
`

test('a profile in Lasso\'s YAML becomes options, with the bindings filled in', () => {
  const { chains: { ethereum } } = fillIn(convertProfile(PROFILE, 'all'), { ONE_KEY: 'k' })
  assert.deepEqual(ethereum, {
    chainId: 1,
    aliases: ['mainnet', 'eth'],
    providers: [{
      id: 'one',
      url: 'https://one.example/k',
      priority: 2,
      quotaGroup: 'one',
      headers: { authorization: 'Bearer k', 'x-team': 'a' },
      capabilities: { unsupportedMethods: ['debug_*', 'eth_getProof'], maxBlockRange: 1000 },
      errorRules: [{ code: 35, messageContains: ['slow down'], class: 'rate_limit' }],
    }],
  })
})

const MISTAKES = {
  'a file of another name': { slug: 'other', text: PROFILE, message: 'other: the slug is "all", but the file is called other.' },
  'an unknown key': {
    text: PROFILE.replace('archival:', 'archive:'),
    message: /^all\.chains\.ethereum\.providers\[0\]\.archive: "archive" is not known\. There are: id, url, /,
  },
  'an unknown category': { text: PROFILE.replace('[debug]', '[tracing]'), message: /unsupported_categories: "tracing" is not known\. There are: debug, / },
  'no front matter': { text: PROFILE.slice(PROFILE.indexOf('chains:')), message: /"chains" is not known\. There are: slug, / },
  'no YAML': { text: PROFILE.replace('[mainnet]', '[mainnet'), message: /^all: / },
}

for (const [name, { text, slug = 'all', message }] of Object.entries(MISTAKES)) {
  test(`a profile is refused with its place: ${name}`, () => {
    assert.throws(() => convertProfile(text, slug), { message })
  })
}

test('a missing binding is named', () => {
  assert.throws(() => fillIn(convertProfile(PROFILE, 'all'), {}), { message: /^A profile needs \$\{ONE_KEY\}, which is not set/ })
})
