// A line chart as SVG text, both axes logarithmic, readable on light and on dark ground.

const WIDTH = 720
const HEIGHT = 380
const AREA = { left: 70, right: 560, top: 46, bottom: 320 }
/** Lines of text closer than this would touch. */
const LINE_HEIGHT = 15
const HUES = 5

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: currentColor }
  svg { color: #1f2328 }
  .title { font-weight: 600; font-size: 14px }
  .ground { fill: #ffffff }
  .grid { stroke: #d1d9e0 }
  .line { fill: none; stroke: currentColor; stroke-width: 2 }
  .limit { color: #59636e; stroke-dasharray: 6 4 }
  .c0 { color: #0969da } .c1 { color: #bc4c00 } .c2 { color: #1a7f37 } .c3 { color: #8250df } .c4 { color: #bf3989 }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3 }
    .ground { fill: #0d1117 }
    .grid { stroke: #3d444d }
    .limit { color: #9198a1 }
    .c0 { color: #4493f8 } .c1 { color: #f0883e } .c2 { color: #3fb950 } .c3 { color: #ab7df8 } .c4 { color: #f778ba }
  }
`

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const fixed = (number) => number.toFixed(1)

/** Powers of ten around all values. */
function decades(values) {
  const from = Math.floor(Math.log10(Math.min(...values)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
}

function scale(ticks, from, to) {
  const [low, high] = [Math.log10(ticks[0]), Math.log10(ticks.at(-1))]
  return (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from)
}

/** Moves texts apart that would stand on each other. */
function apart(labels) {
  const sorted = [...labels].sort((a, b) => a.y - b.y)
  sorted.forEach((label, index) => {
    if (index > 0) label.y = Math.max(label.y, sorted[index - 1].y + LINE_HEIGHT)
  })
  return sorted
}

/**
 * `lines` have a `name` and `points` of an x and a y, and are dashed if they are a `isLimit`; `unit` writes a value of
 * the y axis.
 */
export function chart({ title, xLabel, yLabel, unit, lines }) {
  const points = lines.flatMap((line) => line.points)
  const [xTicks, yTicks] = [0, 1].map((at) => decades(points.map((point) => point[at])))
  const [x, y] = [scale(xTicks, AREA.left, AREA.right), scale(yTicks, AREA.bottom, AREA.top)]
  const text = (className, at, anchor, words) =>
    `<text class="${className}" x="${fixed(at[0])}" y="${fixed(at[1])}" text-anchor="${anchor}">${escaped(words)}</text>`
  const rule = (a, b) => `<line class="grid" x1="${fixed(a[0])}" y1="${fixed(a[1])}" x2="${fixed(b[0])}" y2="${fixed(b[1])}"/>`
  const grid = [
    ...xTicks.flatMap((tick) => [
      rule([x(tick), AREA.top], [x(tick), AREA.bottom]),
      text('tick', [x(tick), AREA.bottom + 18], 'middle', tick.toLocaleString('en')),
    ]),
    ...yTicks.flatMap((tick) => [
      rule([AREA.left, y(tick)], [AREA.right, y(tick)]),
      text('tick', [AREA.left - 8, y(tick) + 4], 'end', unit(tick)),
    ]),
  ]
  const hue = ({ isLimit }, index) => (isLimit ? 'limit' : `c${index % HUES}`)
  const drawn = lines.map((line, index) => {
    const path = line.points.map(([a, b]) => `${fixed(x(a))},${fixed(y(b))}`).join(' ')
    return `<polyline class="line ${hue(line, index)}" points="${path}"/>`
  })
  const labels = apart(lines.map((line, index) => ({ name: line.name, hue: hue(line, index), y: y(line.points.at(-1)[1]) + 4 })))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    text('title', [AREA.left, 26], 'start', title),
    ...grid,
    ...drawn,
    ...labels.map(({ name, hue: own, y: at }) => text(own, [AREA.right + 8, at], 'start', name)),
    text('axis', [(AREA.left + AREA.right) / 2, HEIGHT - 18], 'middle', xLabel),
    `<text transform="translate(18 ${(AREA.top + AREA.bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(yLabel)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}
