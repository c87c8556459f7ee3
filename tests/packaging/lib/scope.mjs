/** Holds what has to be ended, like the context of a test: helpers for tests can be used without one. */
export class Scope {
  #ends = []

  after(end) {
    this.#ends.push(end)
  }

  /** Ends everything, the last one first. */
  async end() {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }
}
