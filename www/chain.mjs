/** A chain that exists only as a clock: enough JSON-RPC for a page to read from. */

const CHAIN_ID = 31_337
const FIRST_BLOCK = 21_000_000
const BLOCK_MS = 2_000
const START = Date.now()

/** The selector of `fail()`: a call that reverts on every provider. */
const FAIL_SELECTOR = '0xa9cc4718'
const REVERT_TEXT = 'the contract says no'

/** @param {number | bigint} value */
const quantity = (value) => `0x${value.toString(16)}`
/** @param {number | bigint} value */
const word = (value) => value.toString(16).padStart(64, '0')
/** @param {number} block */
const blockHash = (block) => `0x${word(BigInt(block) * 0x9e37_79b9_7f4a_7c15n)}`

const headBlock = () => FIRST_BLOCK + Math.floor((Date.now() - START) / BLOCK_MS)

/** `Error(string)` as Solidity encodes it. */
function revertData() {
  const text = Buffer.from(REVERT_TEXT)
  return `0x08c379a0${word(32)}${word(text.length)}${text.toString('hex').padEnd(64, '0')}`
}

/** @param {unknown} tag */
function block(tag) {
  const head = headBlock()
  const number = typeof tag === 'string' && tag.startsWith('0x') ? Number(tag) : head
  if (!(number <= head)) return null
  return {
    number: quantity(number),
    hash: blockHash(number),
    parentHash: blockHash(number - 1),
    timestamp: quantity(Math.floor((START + (number - FIRST_BLOCK) * BLOCK_MS) / 1000)),
    gasLimit: quantity(30_000_000),
    gasUsed: quantity(12_345_678),
    baseFeePerGas: quantity(1_000_000_000),
    transactions: [],
  }
}

class CallError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {string} [data]
   */
  constructor(code, message, data) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** @param {any} call */
function execute(call) {
  if (call?.data?.startsWith(FAIL_SELECTOR)) {
    throw new CallError(3, `execution reverted: ${REVERT_TEXT}`, revertData())
  }
  return `0x${word(headBlock())}`
}

/** @type {Record<string, (params: any[]) => unknown>} */
const METHODS = {
  eth_chainId: () => quantity(CHAIN_ID),
  eth_blockNumber: () => quantity(headBlock()),
  eth_gasPrice: () => quantity(1_000_000_000 + (headBlock() % 50) * 10_000_000),
  eth_getBalance: ([address]) => quantity(BigInt(address ?? 0) % 1_000_000_007n * 1_000_000_000_000n),
  eth_getBlockByNumber: ([tag]) => block(tag),
  eth_call: ([call]) => execute(call),
}

/** @param {any} call */
function answerOne(call) {
  const id = call?.id ?? null
  const method = METHODS[call?.method]
  try {
    if (typeof call?.method !== 'string') throw new CallError(-32600, 'invalid request')
    if (!method) throw new CallError(-32601, `the method ${call.method} does not exist`)
    return { jsonrpc: '2.0', id, result: method(call.params ?? []) }
  } catch (error) {
    const { code, message, data } = error instanceof CallError ? error : new CallError(-32602, 'invalid params')
    return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } }
  }
}

/**
 * The text of the answer to a JSON-RPC request or batch.
 *
 * @param {string} text
 */
export function answer(text) {
  let call
  try {
    call = JSON.parse(text)
  } catch {
    return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } })
  }
  return JSON.stringify(Array.isArray(call) ? call.map(answerOne) : answerOne(call))
}
