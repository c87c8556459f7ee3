// Markdown: tables, and the marked sections of BENCHMARKS.md.

import { readFile, writeFile } from 'node:fs/promises'

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** Three significant digits, without an exponent. */
export function short(number) {
  if (!Number.isFinite(number)) return '–'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number) || 1)))
  return number.toFixed(Math.min(digits, 2))
}

export const times = (ratio) => `${ratio.toFixed(2)}×`

/** Less than this is noise. */
const TOLERANCE = 1.05

/**
 * Says where Waypost is not the best: the reader should not have to look for it. `rows` are pairs of a name
 * and a number of which less is better.
 */
export function behind(what, own, rows) {
  const better = rows.filter(([, value]) => value * TOLERANCE < own)
  if (better.length === 0) return `${what}: nobody is ahead of Waypost here.`
  const list = better.map(([name, value]) => `${name} (by ${times(own / value)})`).join(', ')
  return `${what}: ahead of Waypost ${better.length === 1 ? 'is' : 'are'} ${list}.`
}

/** Replaces what stands between the markers of each section; sections that were not measured stay. */
export async function writeSections(file, sections) {
  let text = await readFile(file, 'utf8')
  for (const [name, content] of Object.entries(sections)) {
    const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const from = text.indexOf(start)
    const to = text.indexOf(end)
    if (from < 0 || to < from) throw new Error(`BENCHMARKS.md has no section ${start} … ${end}; add it`)
    text = `${text.slice(0, from + start.length)}\n${content}\n${text.slice(to)}`
  }
  await writeFile(file, text)
}
