/** Numbers as the page writes them. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenth = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const hundredth = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** Where there is nothing to measure yet. */
export const NOTHING = '–'

/** @param {number} value */
export const count = (value) => whole.format(value)

/** @param {number | null | undefined} ms */
export const millis = (ms) => (ms === null || ms === undefined ? NOTHING : `${whole.format(ms)} ms`)

/** @param {number} ms */
export const seconds = (ms) => `${tenth.format(ms / 1000)} s`

/** @param {number | null} ratio */
export const percent = (ratio) => (ratio === null ? NOTHING : `${whole.format(ratio * 100)} %`)

/** @param {number | null} value */
export const mean = (value) => (value === null ? NOTHING : hundredth.format(value))

/** @param {Date} date */
export const time = (date) => clock.format(date)
