import { startMockServers } from './mocks.mjs'
import { pack } from './package.mjs'
import { startBrowser } from './pages.mjs'
import { Scope } from './scope.mjs'

/**
 * Packs the package, once, and runs consumers of it. `browser` is the name of the one that opens pages; with `keep` the
 * projects stay where they are, and what was built in them can be looked at. It ends with `scope`.
 */
export async function openWorkshop(scope, { browser = process.env.BROWSER ?? 'chromium', keep = false } = {}) {
  const packed = await pack(scope, { keep })
  let started
  const workshop = { ...packed, browser: () => (started ??= startBrowser(scope, browser)) }

  /** Runs one consumer. Answers with what there is to say about its modules, throws if it does not work. */
  workshop.run = async ({ name, run }) => {
    const own = new Scope()
    scope.after(() => own.end())
    try {
      return await run({ workshop, name, scope: own, mocks: await startMockServers(own) })
    } finally {
      await own.end()
    }
  }
  return workshop
}
