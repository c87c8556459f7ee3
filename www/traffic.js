/** Sends requests at a pace, while somebody can see them. */

/** So that requests do not pile up where all providers hang. */
const MOST_UNDER_WAY = 40

export class Traffic {
  #send
  #perSecond = 0
  #underWay = 0
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer

  /** @param {() => Promise<unknown>} send must not reject */
  constructor(send) {
    this.#send = send
    document.addEventListener('visibilitychange', () => this.#arm())
  }

  /** @param {number} perSecond 0 to stop */
  set pace(perSecond) {
    this.#perSecond = perSecond
    this.#arm()
  }

  #arm() {
    clearInterval(this.#timer)
    this.#timer = undefined
    if (this.#perSecond > 0 && !document.hidden) this.#timer = setInterval(() => this.#tick(), 1000 / this.#perSecond)
  }

  async #tick() {
    if (this.#underWay >= MOST_UNDER_WAY) return
    this.#underWay += 1
    try {
      await this.#send()
    } finally {
      this.#underWay -= 1
    }
  }
}
