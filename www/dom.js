/** The few things that every view does with the document. Data goes in as text only. */

/**
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function find(selector) {
  const element = document.querySelector(selector)
  if (!(element instanceof HTMLElement)) throw new Error(`The page has no ${selector}.`)
  return element
}

/**
 * @param {string} selector
 * @returns {HTMLSelectElement}
 */
export function findSelect(selector) {
  const element = find(selector)
  if (!(element instanceof HTMLSelectElement)) throw new Error(`${selector} is no select.`)
  return element
}

/**
 * Makes an element with attributes and children.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/**
 * Sets a text only where it differs, so that a selection or a screen reader is not disturbed.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {string} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

/**
 * Shows `entries`, the newest first, in a list that keeps no more nodes than entries.
 *
 * @template {{ number: number }} Entry
 * @param {HTMLElement} list
 * @param {(entry: Entry) => HTMLElement} row
 * @param {string} emptyText
 */
export function newestFirst(list, row, emptyText) {
  let shown = 0
  list.append(make('li', { class: 'empty' }, emptyText))
  /** @param {readonly Entry[]} entries the oldest first */
  return (entries) => {
    for (const entry of entries) {
      if (entry.number <= shown) continue
      if (shown === 0) list.replaceChildren()
      list.prepend(row(entry))
      shown = entry.number
    }
    while (list.childElementCount > Math.max(1, entries.length)) list.lastElementChild?.remove()
  }
}
