import assert from 'node:assert/strict'
import test from 'node:test'
import { importQuietly } from '../support/quiet-import.mjs'

test('nothing runs when the package is imported or a client is made: no fetch, timer, random number or clock', async () => {
  const report = await importQuietly(
    () => import('waypost'),
    ({ createRpcClient }) => createRpcClient({ providers: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] }),
  )
  assert.deepEqual(report, { loading: [], making: [] })
})
