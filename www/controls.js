/** The controls over what is sent. */

import { RATES, REQUESTS, STRATEGIES } from './choices.js'
import { find, findSelect, make, setText } from './dom.js'
import { millis } from './format.js'

/** Longest piece of a result that is shown. */
const MOST_TEXT = 120

/** @param {import('waypost/web').SendResult<import('waypost/web').JsonRpcResponse>} sent */
function sentText({ response, meta }) {
  const { attempts, end_to_end_latency_ms: ms, selected_provider: selected } = meta
  const text = response.error ? `Error ${response.error.code}: ${response.error.message}` : JSON.stringify(response.result)
  const shown = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text
  const more = attempts.length > 1 ? `, ${attempts.length} attempts` : ''
  return `${shown} (${selected?.id ?? 'no provider'}, ${millis(ms)}${more})`
}

/**
 * @param {{ onChange: () => void, onPace: (perSecond: number) => void,
 *   sendOne: () => Promise<import('waypost/web').SendResult<import('waypost/web').JsonRpcResponse>> }} actions
 */
export function createControls({ onChange, onPace, sendOne }) {
  const strategy = findSelect('#strategy')
  const request = findSelect('#method')
  strategy.append(...Object.keys(STRATEGIES).map((name) => make('option', { value: name }, name)))
  request.append(...REQUESTS.map(({ label }, index) => make('option', { value: String(index) }, label)))

  const choice = () => ({
    strategy: /** @type {import('./choices.js').StrategyName} */ (strategy.value),
    request: REQUESTS[Number(request.value)],
  })
  const change = () => {
    setText(find('#strategy-text'), STRATEGIES[choice().strategy])
    onChange()
  }
  strategy.addEventListener('change', change)
  request.addEventListener('change', change)

  find('#traffic').append(make('div', { class: 'segments' }, ...RATES.map(({ id, label, perSecond }) => {
    const input = make('input', { type: 'radio', name: 'traffic', value: id, id: `traffic-${id}` })
    input.addEventListener('change', () => onPace(perSecond))
    const pace = perSecond === 0 ? [] : [make('span', { class: 'note' }, ` ${perSecond}/s`)]
    return make('span', {}, input, make('label', { for: input.id }, label, ...pace))
  })))

  find('#send-one').addEventListener('click', async () => setText(find('#sent'), sentText(await sendOne())))

  return {
    choice,
    /** @param {string} id */
    setRate(id) {
      find(`#traffic-${id}`).click()
    },
    change,
  }
}
