/** One card per provider: what the client knows of it, and the switches of the mock behind it. */

import { find, make, setAttribute, setText } from './dom.js'
import { count, millis, NOTHING, percent, seconds } from './format.js'
import { createSparkline, scaleEnd } from './sparkline.js'

/**
 * @typedef {import('waypost/web').ProviderStatus} ProviderStatus
 * @typedef {import('waypost/web').Explanation} Explanation
 * @typedef {import('./mock-switches.js').MockMode} MockMode
 * @typedef {{ method: string, status: ProviderStatus, explanation: Explanation | undefined,
 *   minute: ReturnType<import('./model.js').Model['lastMinute']> }} Knowledge
 */

/** A word and a shape for each state, since colour alone tells nothing to some. */
const CIRCUIT_SHAPES = { closed: '●', open: '■', 'half-open': '◐' }

/** @param {ProviderStatus} status */
function circuitText({ circuit, reopensInMs }) {
  return circuit === 'open' ? `open, half-open in ${seconds(reopensInMs)}` : circuit
}

/** @param {Explanation | undefined} explanation */
function rankText(explanation) {
  if (!explanation) return ''
  return explanation.rank === null ? 'excluded' : `rank ${explanation.rank}`
}

/** @type {[name: string, label: string, show: (knowledge: Knowledge) => string][]} */
const FIELDS = [
  ['circuit', 'Breaker', ({ status }) => circuitText(status)],
  ['limit', 'Rate limit', ({ status: { limitedForMs } }) => (limitedForMs > 0 ? `for ${seconds(limitedForMs)}` : 'none')],
  ['resting', 'Resting', ({ status: { restingForMs } }) => (restingForMs > 0 ? `for ${seconds(restingForMs)}` : 'no')],
  ['methodLatency', 'Latency, this method', ({ method, status }) =>
    millis(status.methods.find((known) => known.method === method)?.latencyMs)],
  ['latency', 'Latency, all methods', ({ status }) => millis(status.latencyMs)],
  ['success', 'Recent successes', ({ status: { calls, successRate } }) =>
    (calls === 0 ? NOTHING : `${percent(successRate)} of ${count(calls)}`)],
  ['chance', 'Chance to go first', ({ explanation }) => percent(explanation?.share ?? null)],
  ['share', 'Attempts', ({ status, minute }) => {
    const { share, count: attempts } = minute.of(status.id)
    return share === null ? NOTHING : `${percent(share)} (${count(attempts)} of ${count(minute.all)})`
  }],
]

/**
 * @param {string} id
 * @param {readonly MockMode[]} modes
 * @param {(id: string, mode: string) => void} onSwitch
 */
function createCard(id, modes, onSwitch) {
  const rank = make('span', { class: 'rank', 'data-field': 'rank' })
  const shape = make('span', { 'aria-hidden': 'true' })
  const text = make('p', { class: 'why', 'data-field': 'text' })
  const sparkline = createSparkline()
  const scale = make('p', { class: 'scale note', 'aria-hidden': 'true' })
  const bar = make('span')
  const effect = make('p', { class: 'note', 'data-field': 'effect' })

  const values = FIELDS.map(([name]) => make('dd', { 'data-field': name }))
  const facts = make('dl', { class: 'facts' },
    ...FIELDS.map(([, label], index) => make('div', {}, make('dt', {}, label), values[index])))

  const buttons = modes.map((mode) => {
    const button = make('button', { type: 'button', 'data-mode': mode.name }, mode.label)
    button.addEventListener('click', () => onSwitch(id, mode.name))
    return { button, mode }
  })

  const card = make('li', { class: 'panel card', 'data-provider': id },
    make('h3', {}, shape, id, rank),
    text,
    sparkline.element,
    scale,
    facts,
    make('div', { class: 'bar', 'aria-hidden': 'true' }, bar),
    effect,
    make('div', { class: 'switches', role: 'group', 'aria-label': `Mock ${id}` }, ...buttons.map(({ button }) => button)))

  return {
    card,

    /** @param {Knowledge} knowledge */
    update(knowledge) {
      const { status, explanation, minute } = knowledge
      const { samples, share } = minute.of(id)
      const end = scaleEnd(minute.slowestMs)
      setAttribute(card, 'data-circuit', status.circuit)
      setText(shape, CIRCUIT_SHAPES[status.circuit])
      setText(rank, rankText(explanation))
      setText(text, explanation?.text ?? '')
      sparkline.update(samples, minute.now, end)
      setText(scale, `Last minute, 0 to ${millis(end)}`)
      FIELDS.forEach(([, , show], index) => setText(values[index], show(knowledge)))
      bar.style.width = `${(share ?? 0) * 100}%`
    },

    /** @param {string} mode */
    showMode(mode) {
      for (const each of buttons) {
        const isPressed = each.mode.name === mode
        setAttribute(each.button, 'aria-pressed', String(isPressed))
        if (isPressed) setText(effect, `Mock: ${each.mode.effect}.`)
      }
    },
  }
}

/**
 * @param {import('./mock-switches.js').MockReport} report
 * @param {(id: string, mode: string) => void} onSwitch
 */
export function createProvidersView({ mocks, modes }, onSwitch) {
  const cards = new Map(mocks.map(({ id }) => [id, createCard(id, modes, onSwitch)]))
  find('#providers').append(...[...cards.values()].map(({ card }) => card))
  return {
    /**
     * @param {Omit<Knowledge, 'status' | 'explanation'>} shared
     * @param {readonly ProviderStatus[]} statuses
     * @param {readonly Explanation[]} explanations
     */
    update(shared, statuses, explanations) {
      for (const status of statuses) {
        const explanation = explanations.find(({ provider }) => provider === status.id)
        cards.get(status.id)?.update({ ...shared, status, explanation })
      }
    },

    /** @param {readonly import('./mock-switches.js').MockState[]} states */
    showModes(states) {
      for (const { id, mode } of states) cards.get(id)?.showMode(mode)
    },
  }
}
