// Each story says what is wrong with which of the three proxies. One of them is always well, but
// not always the same one.
const STORIES = [
  ({ a, b, loseAnswer }) => [a.refuse(), loseAnswer(b)],
  ({ b, c, loseAnswer }) => [b.fault('reset'), loseAnswer(c)],
  ({ a, b }) => [a.fault('status', { status: 503 }), b.fault('status', { status: 500 })],
  ({ a, b }) => [a.fault('rateLimited', { retryAfter: 1 }), b.fault('html')],
  ({ a, c, loseAnswer }) => [a.fault('hang'), loseAnswer(c)],
  ({ a, c, loseAnswer }) => [c.fault('truncated'), loseAnswer(a)],
  ({ b, c }) => [b.fault('empty'), c.refuse()],
  ({ a, c }) => [a.fault('wrongId'), c.fault('status', { status: 401 })],
  ({ b, c, loseAnswer }) => [b.fault('hangBody'), loseAnswer(c)],
  ({ a, b }) => [a.fault('slow', { delayMs: 20 }), b.fault('rpcError', { code: -32603, message: 'internal error' })],
]

export const STORY_COUNT = STORIES.length

/**
 * Makes `tell(step)`: heals all proxies, then tells the story of that step. `lostBy` names the fault by
 * which a transaction is executed and its answer is lost: a browser sends a request by itself again
 * when a connection that it had kept open is reset, so there it cannot be `resetAfterForward`.
 */
export function storyTeller([a, b, c], { lostBy = 'resetAfterForward' } = {}) {
  const loseAnswer = (proxy) => proxy.fault(lostBy, { method: 'eth_sendRawTransaction', times: 1 })
  return async (step) => {
    for (const proxy of [a, b, c]) await proxy.heal().accept()
    await Promise.all(STORIES[step % STORIES.length]({ a, b, c, loseAnswer }))
  }
}
