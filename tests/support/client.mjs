import assert from 'node:assert/strict'
import { createRpcClient } from 'waypost'
import { providersOf } from './providers.mjs'

/**
 * Opens a client over these proxies that ends with test `t`. Priority order makes who is asked
 * first the test's choice.
 */
export function openClient(t, proxies, options = {}) {
  const providers = providersOf(proxies).map((provider, priority) => ({ ...provider, priority }))
  const rpc = createRpcClient({ providers, strategy: 'priority', seed: 1, ...options })
  t.after(() => rpc.dispose())
  return rpc
}

/** The error that a promise rejects with. */
export async function rejection(promise) {
  try {
    await promise
  } catch (error) {
    assert.ok(error instanceof Error, `${error} is an Error`)
    return error
  }
  throw new assert.AssertionError({ message: 'the promise was expected to reject' })
}

/** The status of the only chain's provider with this id. */
export function providerStatus(rpc, id) {
  const [chains] = Object.values(rpc.status().profiles)
  const [{ providers }] = Object.values(chains)
  return providers.find((provider) => provider.id === id)
}

/** A clock that only a test moves: nothing may wait by it. */
export function fakeClock() {
  const clock = { ms: 1_000, now: () => clock.ms }
  return clock
}

/** A clock that runs by itself and that a test can put forward. */
export function aheadClock() {
  const clock = { aheadMs: 0, now: () => performance.now() + clock.aheadMs }
  return clock
}
