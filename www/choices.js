/** What the reader can choose to send, and how. */

/**
 * @typedef {import('waypost/web').StrategyName} StrategyName
 * @typedef {{ label: string, method: string, params: readonly unknown[] }} Choice
 */

const ACCOUNT = '0x00000000219ab540356cbb839cbe05303d7705fa'
/** The selector of `fail()`, which the mocks answer with a revert. */
const FAIL = '0xa9cc4718'

/** @type {Record<StrategyName, string>} */
export const STRATEGIES = {
  latency_weighted: 'The faster a provider, the more it gets; the others still get some.',
  fastest: 'The one with the lowest measured latency for the method.',
  adaptive: 'The one that is expected to answer first right now; idle ones are measured by copies of a few requests.',
  load_balanced: 'Every healthy provider equally often. The default.',
  priority: 'In the order below, the next one only if the one before it cannot.',
}

/** @type {readonly Choice[]} */
export const REQUESTS = [
  { label: 'eth_blockNumber', method: 'eth_blockNumber', params: [] },
  { label: 'eth_getBalance', method: 'eth_getBalance', params: [ACCOUNT, 'latest'] },
  { label: 'eth_call', method: 'eth_call', params: [{ to: ACCOUNT, data: '0x' }, 'latest'] },
  { label: 'eth_call that reverts', method: 'eth_call', params: [{ to: ACCOUNT, data: FAIL }, 'latest'] },
  { label: 'eth_gasPrice', method: 'eth_gasPrice', params: [] },
  { label: 'eth_getBlockByNumber', method: 'eth_getBlockByNumber', params: ['latest', false] },
  { label: 'eth_chainId', method: 'eth_chainId', params: [] },
]

/** Requests per second. */
export const RATES = [
  { id: 'off', label: 'Off', perSecond: 0 },
  { id: 'slow', label: 'Slow', perSecond: 2 },
  { id: 'brisk', label: 'Brisk', perSecond: 8 },
]
