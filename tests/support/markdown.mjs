/** What tests read out of the documents. */

/** The code of every fenced block of a language, in order. */
export function blocksOf(markdown, language) {
  const fence = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm')
  return Array.from(markdown.matchAll(fence), ([, code]) => code)
}

/** The sides of a block that shows a change. */
export function sidesOf(diff) {
  const side = (sign) => diff.split('\n').filter((line) => line === '' || line[0] === ' ' || line[0] === sign).map((line) => line.slice(1)).join('\n')
  return { before: side('-'), after: side('+') }
}

/** Command lines of `curl`, which may go on after a backslash. */
export const curlsOf = (markdown) => Array.from(markdown.matchAll(/^ {4}(curl (?:.*\\\n)*.*)/gm), ([, line]) => line)

/** Names of `cargo xtask` commands. */
export const commandsOf = (markdown) => Array.from(markdown.matchAll(/cargo xtask ([a-z]+)/g), ([, name]) => name)

/** Targets of links. */
export const linksOf = (markdown) => Array.from(withoutBlocks(markdown).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target)

/** The anchors that headings get. */
export const anchorsOf = (markdown) =>
  Array.from(withoutBlocks(markdown).matchAll(/^#+ (.*)/gm), ([, heading]) => heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'))

const withoutBlocks = (markdown) => markdown.replaceAll(/^```[^]*?^```/gm, '')
