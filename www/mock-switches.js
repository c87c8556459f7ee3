/** The demo server's side of the page: which mocks there are, and how each one is to behave. */

/**
 * @typedef {{ id: string, url: string, medianMs: number, mode: string }} MockState
 * @typedef {{ name: string, label: string, effect: string }} MockMode
 * @typedef {{ mocks: MockState[], modes: MockMode[] }} MockReport
 */

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<MockReport>}
 */
async function ask(path, init) {
  const response = await fetch(path, init).catch(() => undefined)
  if (!response?.ok) {
    throw new Error('The server of this demo does not answer. Is `cargo xtask demo` still running? If so, load the page again.')
  }
  return response.json()
}

export const readMocks = () => ask('mocks')

/**
 * @param {string} id
 * @param {string} mode
 */
export const switchMock = (id, mode) =>
  ask(`mocks/${encodeURIComponent(id)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode }),
  })

/**
 * Makes all of them answer again.
 *
 * @param {readonly MockState[]} mocks
 */
export async function healMocks(mocks) {
  await Promise.all(mocks.map(({ id }) => switchMock(id, 'healthy')))
  return readMocks()
}
