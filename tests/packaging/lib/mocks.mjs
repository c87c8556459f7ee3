import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { IDS, startGateway } from '../../support/gateway.mjs'
import { startMocks } from '../../support/providers.mjs'

const WASM = {
  /** The module is inside the script. */
  inlined: { files: 0, loaded: 0, compiled: 1 },
  /** It is a file that the page downloads. */
  streamed: { files: 1, loaded: 1, compiled: 1 },
  /** It is a file that the runtime compiles, before the script runs. */
  imported: { files: 1, loaded: 0, compiled: 0 },
}

/** A provider that answers 503, one that answers, and a gateway. What was asked of them is checked by `check`. */
export async function startMockServers(scope) {
  const [first, second] = await startMocks(scope, 2, { getSlot: 345 })
  first.fault('status', { status: 503 })
  const gateway = await startGateway(scope)
  const targets = { first: first.url, second: second.url, gateway: gateway.url, id: IDS.text }

  /**
   * Throws if one of the reports is wrong, or if the servers were asked for more or less than the reports need.
   * `wasm` is a key of `WASM`; `files` are the modules that a build wrote, undefined where nothing is built;
   * `libraries` is what the adapters brought back.
   * Answers with what there is to say about modules.
   */
  function check(reports, { wasm, files, libraries, hasTimeline = true }) {
    const { files: written, loaded, compiled } = WASM[wasm]
    for (const report of reports) {
      assert.equal(report.error, undefined, report.error)
      assert.equal(report.block, '0x10')
      assert.deepEqual(report.attempts, ['first: error', 'second: success'])
      assert.equal(report.text, 'hello permaweb\n')
      assert.deepEqual(report.libraries, libraries)
      assert.equal(report.wasm.compiled, compiled, 'compiled modules')
      assert.equal(report.wasm.instances, 1, 'instances')
      if (hasTimeline) assert.equal(report.wasm.loaded.length, loaded, `downloaded modules: ${report.wasm.loaded}`)
    }
    if (files !== undefined) assert.equal(files.length, written, `modules that the build wrote: ${files}`)
    assert.equal(first.counters.of('eth_blockNumber'), reports.length, 'calls to the first provider')
    assert.equal(second.counters.of('eth_blockNumber'), reports.length, 'calls to the second provider')
    assert.equal(gateway.counters.of('GET'), reports.length, 'requests to the gateway')
    return [wasm, ...(files ?? []).map((file) => basename(file))].join(', ')
  }

  return { targets: JSON.stringify(targets), check }
}
