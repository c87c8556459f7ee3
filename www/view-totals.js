/** The row of totals. */

import { find, make, setText } from './dom.js'
import { count, mean, millis } from './format.js'

/** @typedef {ReturnType<import('./model.js').Model['totals']>} Totals */

/** @type {[name: string, label: string, note: string, show: (totals: Totals) => string][]} */
const TILES = [
  ['ended', 'Requests', 'since loading', ({ ended }) => count(ended)],
  ['answered', 'Answered', 'since loading', ({ answered }) => count(answered)],
  ['failed', 'Failed', 'since loading', ({ failed }) => count(failed)],
  ['median', 'Median time', 'last minute', ({ medianMs }) => millis(medianMs)],
  ['p95', '95th percentile', 'last minute', ({ p95Ms }) => millis(p95Ms)],
  ['attempts', 'Attempts each', 'last minute', ({ attemptsPerRequest }) => mean(attemptsPerRequest)],
]

export function createTotalsView() {
  const list = find('#totals')
  const values = TILES.map(([name, label, note]) => {
    const value = make('dd', { 'data-total': name })
    list.append(make('div', { class: 'panel tile' }, make('dt', {}, label, make('span', { class: 'note' }, note)), value))
    return value
  })
  /** @param {Totals} totals */
  return (totals) => TILES.forEach(([, , , show], index) => setText(values[index], show(totals)))
}
