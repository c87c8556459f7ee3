// Runs in Node and in a page alike: no imports, the libraries are handed in, and the
// reports are plain data that can leave a page.

/** The first accounts of the well-known development mnemonic, all rich on a fresh anvil. */
export const ACCOUNTS = [
  ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
  ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
  ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'],
].map(([address, key]) => ({ address, key }))

export const CHAIN_ID = 31337
const SINK = '0x000000000000000000000000000000000000dEaD'
// The libraries wait seconds between two looks at a chain that here has a block at once.
const POLL_MS = 20

async function viemRound(rpc, { viem, privateKeyToAccount }, { address, key }) {
  const chain = viem.defineChain({
    id: CHAIN_ID,
    name: 'anvil',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
  })
  const options = { chain, transport: viem.custom(rpc), pollingInterval: POLL_MS }
  const reader = viem.createPublicClient(options)
  const wallet = viem.createWalletClient({ ...options, account: privateKeyToAccount(key) })
  const before = await reader.getBalance({ address })
  const hash = await wallet.sendTransaction({ to: SINK, value: 1n })
  const receipt = await reader.waitForTransactionReceipt({ hash })
  const block = await reader.getBlock({ blockNumber: receipt.blockNumber })
  const after = await reader.getBalance({ address })
  return {
    hash,
    receiptHash: receipt.transactionHash,
    succeeded: receipt.status === 'success',
    inBlock: block.transactions.includes(hash),
    paid: before > after,
  }
}

async function ethersRound(rpc, { ethers }, { address, key }) {
  const provider = new ethers.BrowserProvider(rpc)
  provider.pollingInterval = POLL_MS
  const wallet = new ethers.Wallet(key, provider)
  const before = await provider.getBalance(address)
  const sent = await wallet.sendTransaction({ to: SINK, value: 1n })
  const receipt = await sent.wait()
  const block = await provider.getBlock(receipt.blockNumber)
  // Without a block the answer may come from the cache of the library.
  const after = await provider.getBalance(address, receipt.blockNumber)
  provider.destroy()
  return {
    hash: sent.hash,
    receiptHash: receipt.hash,
    succeeded: receipt.status === 1,
    inBlock: block.transactions.includes(sent.hash),
    paid: before > after,
  }
}

async function web3Round(rpc, { Web3 }, { address, key }) {
  const web3 = new Web3(rpc)
  web3.eth.transactionPollingInterval = POLL_MS
  web3.eth.accounts.wallet.add(key)
  const before = await web3.eth.getBalance(address)
  let hash
  const receipt = await web3.eth
    .sendTransaction({ from: address, to: SINK, value: '1' })
    .on('transactionHash', (value) => { hash = `${value}` })
  const block = await web3.eth.getBlock(receipt.blockNumber)
  const after = await web3.eth.getBalance(address)
  return {
    hash,
    receiptHash: receipt.transactionHash,
    succeeded: receipt.status === 1n,
    inBlock: block.transactions.includes(hash),
    paid: before > after,
  }
}

/** One round per library, each with an account of its own: read, send, wait, read again. */
export const ROUNDS = { viem: viemRound, ethers: ethersRound, web3: web3Round }

/** What every round reports when all is well, but for the hash. */
export const GOOD_ROUND = { succeeded: true, inBlock: true, paid: true }

export function runRound(name, rpc, libraries) {
  return ROUNDS[name](rpc, libraries, ACCOUNTS[Object.keys(ROUNDS).indexOf(name)])
}

const isQuantity = (value) => /^0x(0|[1-9a-f][0-9a-f]*)$/.test(value)
const READS = [
  ['eth_blockNumber', [], isQuantity],
  ['eth_getBalance', [ACCOUNTS[0].address, 'latest'], isQuantity],
  // Init code that returns its first word, 0x2a.
  ['eth_call', [{ data: '0x602a60005260206000f3' }, 'latest'], (value) => value === `0x${'2a'.padStart(64, '0')}`],
  ['eth_getBlockByNumber', ['0x0', false], ({ number }) => number === '0x0'],
  ['eth_chainId', [], (value) => Number(value) === CHAIN_ID],
  ['eth_getTransactionCount', [ACCOUNTS[0].address, 'latest'], isQuantity],
  ['eth_gasPrice', [], isQuantity],
  ['eth_getCode', [SINK, 'latest'], (value) => value === '0x'],
]

const describe = (error) => ({
  name: error.name, code: error.code, reason: error.reason, message: error.message, attempts: error.attempts,
})

/**
 * Makes `count` reads of several methods, `concurrency` at a time, and awaits `before(index)` before
 * each. Reports what went wrong and the longest time that one call took.
 */
export async function mixedReads(rpc, { count, concurrency, before = () => {} }) {
  const report = { answered: 0, failures: [], wrong: [], slowestMs: 0 }
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      await before(index)
      const [method, params, isRight] = READS[index % READS.length]
      const startedAt = performance.now()
      try {
        const result = await rpc.request({ method, params })
        report.answered += 1
        if (!isRight(result)) report.wrong.push({ index, method, result })
      } catch (error) {
        report.failures.push({ index, method, ...describe(error) })
      }
      report.slowestMs = Math.max(report.slowestMs, performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return report
}

/** Sends raw transactions one after the other. Reports the hashes as answered. */
export async function rawSends(rpc, raws) {
  const report = { hashes: [], failures: [], slowestMs: 0 }
  for (const [index, raw] of raws.entries()) {
    const startedAt = performance.now()
    try {
      report.hashes.push(await rpc.request({ method: 'eth_sendRawTransaction', params: [raw] }))
    } catch (error) {
      report.failures.push({ index, ...describe(error) })
    }
    report.slowestMs = Math.max(report.slowestMs, performance.now() - startedAt)
  }
  return report
}

/**
 * Reads `count` times and sends the raw transactions, in equal parts during each of `stories` stories;
 * a story is told (`tell(step)`) when the calls of the last one have ended.
 */
export async function chaosRun(rpc, { count, raws, stories, tell }) {
  const run = { answered: 0, failures: [], wrong: [], hashes: [], slowestMs: 0 }
  const sendsPerStory = raws.length / stories
  for (let step = 0; step < stories; step += 1) {
    await tell(step)
    const [reads, sends] = await Promise.all([
      mixedReads(rpc, { count: count / stories, concurrency: 8 }),
      rawSends(rpc, raws.slice(step * sendsPerStory, (step + 1) * sendsPerStory)),
    ])
    run.answered += reads.answered
    run.wrong.push(...reads.wrong)
    run.hashes.push(...sends.hashes)
    run.failures.push(...[...reads.failures, ...sends.failures].map((failure) => ({ step, ...failure })))
    run.slowestMs = Math.max(run.slowestMs, reads.slowestMs, sends.slowestMs)
  }
  return run
}
