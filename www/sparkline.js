/** The last minute of one provider as a picture: a dot per answer, a tick at the bottom per failure. */

import { WINDOW_MS } from './model.js'
import { setAttribute } from './dom.js'
import { count, millis } from './format.js'

const SVG = 'http://www.w3.org/2000/svg'
const WIDTH = 240
const HEIGHT = 48
const TICK = 7
const PAD = 3
const LEAST_END_MS = 100

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 */
function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  return element
}

/**
 * The next round number, as the end of a scale.
 *
 * @param {number} ms
 */
export function scaleEnd(ms) {
  const power = 10 ** Math.floor(Math.log10(Math.max(LEAST_END_MS, ms)))
  return [1, 1.5, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((end) => end >= ms) ?? ms
}

export function createSparkline() {
  const answers = draw('path', { class: 'dots' })
  const failures = draw('path', { class: 'ticks' })
  const element = draw('svg', {
    class: 'sparkline', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
  })
  element.append(answers, failures)

  /**
   * @param {readonly import('./model.js').Sample[]} samples
   * @param {number} now
   * @param {number} endMs
   */
  const update = (samples, now, endMs) => {
    const x = (at) => (WIDTH - PAD - ((now - at) / WINDOW_MS) * (WIDTH - 2 * PAD)).toFixed(1)
    const y = (ms) => (HEIGHT - PAD - (ms / endMs) * (HEIGHT - 2 * PAD)).toFixed(1)
    const good = samples.filter(({ kind }) => kind === 'answer')
    const bad = samples.filter(({ kind }) => kind === 'failure')
    setAttribute(answers, 'd', good.map(({ at, ms }) => `M${x(at)} ${y(ms)}h0`).join(''))
    setAttribute(failures, 'd', bad.map(({ at }) => `M${x(at)} ${HEIGHT}v-${TICK}`).join(''))
    const range = good.length === 0 ? '' : ` between ${millis(Math.min(...good.map(({ ms }) => ms)))} and ${millis(Math.max(...good.map(({ ms }) => ms)))}`
    setAttribute(element, 'aria-label', `Last minute: ${count(good.length)} answers${range}, ${count(bad.length)} failures`)
  }
  return { element, update }
}
