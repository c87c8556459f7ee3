/** The last requests and the last events, the newest first. */

import { find, make, newestFirst, setText } from './dom.js'
import { millis, seconds, time } from './format.js'
import { kindOf } from './model.js'

/**
 * @typedef {import('waypost/web').AttemptRecord} AttemptRecord
 * @typedef {import('./model.js').RequestEntry} RequestEntry
 * @typedef {import('./model.js').EventEntry} EventEntry
 */

const ATTEMPT_SHAPES = { answer: '✓', failure: '✕', abandoned: '○' }
const OUTCOMES = {
  success: 'answered',
  error: 'answered with an error',
  failed: 'failed',
  aborted: 'aborted',
}

/** @param {AttemptRecord} attempt */
function attemptPart(attempt) {
  const { provider, outcome, class: word, ms } = attempt
  const kind = kindOf(attempt)
  const said = outcome === 'error' ? (word ?? outcome) : outcome
  return make('li', { class: `attempt ${kind}` },
    make('span', { 'aria-hidden': 'true' }, ATTEMPT_SHAPES[kind]),
    ` ${provider} `,
    make('span', outcome === 'success' ? { class: 'visually-hidden' } : { class: 'word' }, `${said} `),
    millis(ms))
}

/** @param {RequestEntry} entry */
function requestRow({ date, event }) {
  return make('li', { 'data-outcome': event.outcome },
    make('span', { class: 'note' }, time(date)),
    make('span', { class: 'method' }, event.method),
    make('span', { class: 'outcome' }, OUTCOMES[event.outcome]),
    make('span', { class: 'took' }, millis(event.ms)),
    make('ol', { class: 'attempts', 'aria-label': 'Attempts' }, ...event.attempts.map(attemptPart)))
}

/** @param {EventEntry['event']} event */
function eventText(event) {
  if ('state' in event) return `${event.provider}: breaker ${event.state}`
  return `${event.provider}: rate-limited for ${seconds(event.forMs)}`
}

/** @param {EventEntry} entry */
function eventRow({ date, event }) {
  return make('li', {}, make('span', { class: 'note' }, time(date)), make('span', {}, eventText(event)))
}

export function createLogsView() {
  const showRequests = newestFirst(find('#requests'), requestRow, 'Nothing has been sent yet.')
  const showEvents = newestFirst(find('#events'), eventRow, 'Nothing yet. Make a provider fail.')
  // Read out by screen readers: no more than what changes who is asked.
  const announcement = find('#announcement')
  /** @param {import('./model.js').Model} model */
  return ({ requests, events }) => {
    showRequests(requests)
    showEvents(events)
    const last = events.findLast(({ event }) => 'state' in event && event.state !== 'half-open')
    if (last) setText(announcement, eventText(last.event))
  }
}
