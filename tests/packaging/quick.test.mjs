/** The consumers of the packed package that take seconds. `run.mjs` has them all. */

import test, { after, before } from 'node:test'
import { CONSUMERS } from './consumers/index.mjs'
import { Scope } from './lib/scope.mjs'
import { openWorkshop } from './lib/workshop.mjs'

const scope = new Scope()
let workshop

before(async () => {
  workshop = await openWorkshop(scope)
})
after(() => scope.end())

for (const consumer of CONSUMERS.filter(({ isQuick }) => isQuick)) {
  test(`the packed package works: ${consumer.name}`, () => workshop.run(consumer))
}
