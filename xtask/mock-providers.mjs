// Providers that are not there: what a Worker asks of the hosts in its profiles is answered here, and nothing leaves the machine.

import { readFile } from 'node:fs/promises'
import { Response } from 'miniflare'

const FIRST_BLOCK = 20_000_000
const BLOCK_MS = 2_000
const START = Date.now()

/** @param {number} value */
const quantity = (value) => `0x${value.toString(16)}`

/** @type {Record<string, (self: Mock) => unknown>} */
const METHODS = {
  web3_clientVersion: ({ id, chain, profile }) => `mock/${id}/${chain}/${profile}`,
  eth_chainId: ({ chainId }) => quantity(chainId),
  net_version: ({ chainId }) => String(chainId),
  eth_blockNumber: () => quantity(FIRST_BLOCK + Math.floor((Date.now() - START) / BLOCK_MS)),
  eth_gasPrice: () => quantity(1_000_000_000),
  eth_getBalance: () => quantity(10 ** 15),
  eth_getLogs: () => [],
  debug_traceTransaction: () => ({ gas: 21_000, failed: false, returnValue: '', structLogs: [] }),
}

/**
 * @typedef {{ id: string, chain: string, chainId: number, profile: string }} Mock
 * @typedef {Record<string, { chains: Record<string, { chainId: number, providers: { id: string, url: string }[] }> }>} Profiles
 */

/** @param {Profiles} profiles */
function mocksByHost(profiles) {
  /** @type {Map<string, Mock>} */
  const mocks = new Map()
  for (const [profile, { chains }] of Object.entries(profiles)) {
    for (const [chain, { chainId, providers }] of Object.entries(chains)) {
      for (const { id, url } of providers) mocks.set(new URL(url).host, { id, chain, chainId, profile })
    }
  }
  return mocks
}

/**
 * @param {Mock} mock
 * @param {any} call
 */
function answer(mock, { id, method }) {
  const known = METHODS[method]
  if (known) return { jsonrpc: '2.0', id, result: known(mock) }
  return { jsonrpc: '2.0', id, error: { code: -32601, message: `the method ${method} does not exist` } }
}

/**
 * Answers for every provider of an example's profiles.
 *
 * @param {(mock: Mock, request: import('miniflare').Request) => void} [observe] is told of every request
 */
export async function mockProviders(observe = () => {}) {
  const mocks = mocksByHost(JSON.parse(await readFile(new URL('../examples/worker/profiles.json', import.meta.url), 'utf8')))
  /** @param {import('miniflare').Request} request */
  return async (request) => {
    const mock = mocks.get(new URL(request.url).host)
    if (!mock) return new Response('no provider has this address', { status: 502 })
    observe(mock, request)
    return Response.json(answer(mock, await request.json()))
  }
}
