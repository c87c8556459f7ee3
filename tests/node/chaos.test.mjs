import assert from 'node:assert/strict'
import test from 'node:test'
import { createRpcClient } from 'waypost'
import { STORY_COUNT, storyTeller } from '../support/chaos.mjs'
import { aheadClock } from '../support/client.mjs'
import { providersOf, startPool, startShared } from '../support/providers.mjs'
import { chainHashes, hashesOf, sentAgain, signTransactions } from '../support/transactions.mjs'
import { chaosRun, mixedReads } from '../support/workloads.mjs'

const READS = 1_000
const SENDS = 2 * STORY_COUNT
const CONCURRENCY = 8
const DEADLINE_MS = 8_000

const client = (t, proxies, options) => {
  const rpc = createRpcClient({ providers: providersOf(proxies), deadlineMs: DEADLINE_MS, ...options })
  t.after(() => rpc.dispose())
  return rpc
}

function assertAllWell(report) {
  assert.deepEqual(report.failures, [])
  assert.deepEqual(report.wrong, [])
  assert.ok(report.slowestMs < DEADLINE_MS, `one call took ${report.slowestMs} ms`)
}

for (const strategy of ['load_balanced', 'latency_weighted', 'fastest']) {
  test(`${strategy}: 1,000 reads and some sends lose nothing while providers fail in turn`, async (t) => {
    const { node, proxies } = await startShared(t)
    const rpc = client(t, proxies, { strategy, attemptTimeoutMs: 1_000, seed: 3 })
    const raws = await signTransactions(SENDS)
    const run = await chaosRun(rpc, { count: READS, raws, stories: STORY_COUNT, tell: storyTeller(proxies) })
    assertAllWell(run)
    assert.equal(run.answered, READS)
    assert.deepEqual(run.hashes, hashesOf(raws))
    assert.deepEqual(await chainHashes(node.url), hashesOf(raws))
    assert.deepEqual(sentAgain(proxies), [])
  })
}

test('1,000 reads lose nothing while node processes are killed and started again in turn', async (t) => {
  const { nodes, proxies } = await startPool(t)
  const rpc = client(t, proxies, { strategy: 'load_balanced', seed: 5 })
  const before = async (index) => {
    if (index % 100 !== 50) return
    const step = (index - 50) / 100
    const node = nodes[Math.floor(step / 2) % nodes.length]
    await (step % 2 === 0 ? node.stop() : node.start())
  }
  const reads = await mixedReads(rpc, { count: READS, concurrency: CONCURRENCY, before })
  assertAllWell(reads)
  assert.equal(reads.answered, READS)
})

test('a dead node is asked a few times, then only by trials, and is back in use after it has healed', async (t) => {
  const { nodes: [node], proxies } = await startPool(t)
  const [dead] = proxies
  const clock = aheadClock()
  const rpc = client(t, proxies, { strategy: 'load_balanced', seed: 9, now: clock.now })
  const read = (count, concurrency) => mixedReads(rpc, { count, concurrency })

  assertAllWell(await read(60, 1))
  await node.stop()
  dead.counters.reset()
  assertAllWell(await read(300, 1))
  const untilOpen = dead.counters.total
  assert.ok(untilOpen >= 1 && untilOpen <= 3, `${untilOpen} calls until the circuit opened`)

  // The default cool-down is 10 s with up to 5 % jitter, and doubles: one trial per cool-down.
  for (const trial of [1, 2]) {
    clock.aheadMs += 10_600 * trial
    assertAllWell(await read(50, 1))
    assert.equal(dead.counters.total, untilOpen + trial)
  }

  await node.start()
  clock.aheadMs += 50_000
  assertAllWell(await read(200, 1))
  assert.ok(dead.counters.total > untilOpen + 2 + 20, 'the healed node has its share again')
})
