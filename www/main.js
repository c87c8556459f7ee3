/** Wires the client, the controls and the views together. */

import { createRpcClient, init, RpcError, WaypostError } from 'waypost/web'
import { createControls } from './controls.js'
import { find, setText } from './dom.js'
import { healMocks, readMocks, switchMock } from './mock-switches.js'
import { Model } from './model.js'
import { Traffic } from './traffic.js'
import { createLogsView } from './view-logs.js'
import { createProvidersView } from './view-providers.js'
import { createTotalsView } from './view-totals.js'

const FRAME_MS = 250

/** @param {unknown} error */
function showProblem(error) {
  const notice = find('#notice')
  setText(notice, error instanceof Error ? error.message : String(error))
  notice.hidden = false
}

async function start() {
  const [report] = await Promise.all([readMocks(), init()])
  const rpc = createRpcClient({
    providers: report.mocks.map(({ id, url }, priority) => ({ id, url, priority })),
  })
  const model = new Model()
  model.watch(rpc)

  const showTotals = createTotalsView()
  const showLogs = createLogsView()
  const providers = createProvidersView(report, (id, mode) => control(switchMock(id, mode)))

  /** @param {Promise<import('./mock-switches.js').MockReport>} answer */
  async function control(answer) {
    try {
      providers.showModes((await answer).mocks)
      find('#notice').hidden = true
    } catch (error) {
      showProblem(error)
    }
  }

  async function send() {
    const { strategy, request: { method, params } } = controls.choice()
    try {
      await rpc.request({ method, params }, { strategy })
    } catch (error) {
      // These are in the events, which the page shows.
      if (!(error instanceof RpcError || error instanceof WaypostError)) throw error
    }
  }
  const traffic = new Traffic(send)

  const controls = createControls({
    onChange: () => render(),
    onPace: (perSecond) => { traffic.pace = perSecond },
    sendOne: () => {
      const { strategy, request: { method, params } } = controls.choice()
      return rpc.send({ id: 1, method, params }, { strategy })
    },
  })

  function render() {
    const { strategy, request: { method } } = controls.choice()
    const { profiles } = rpc.status()
    const statuses = Object.values(profiles).flatMap((chains) => Object.values(chains)).flatMap((chain) => chain.providers)
    showTotals(model.totals())
    providers.update({ method, minute: model.lastMinute() }, statuses, rpc.explain({ method, strategy }))
    showLogs(model)
  }

  find('#heal-all').addEventListener('click', () => control(healMocks(report.mocks)))
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void control(readMocks())
  })

  providers.showModes(report.mocks)
  controls.change()
  controls.setRate('slow')
  setInterval(() => {
    if (!document.hidden) render()
  }, FRAME_MS)

  Object.assign(window, { waypostDemo: { rpc } })
}

start().catch(showProblem)
