/** The strategies that rank by measurements, used alone as inside a foreign client. */

import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import {
  FastestRoutingStrategy,
  LatencyWeightedRoutingStrategy,
  LoadBalancedRoutingStrategy,
  PriorityRoutingStrategy,
} from 'waypost'
import { countedProvider, fakeGateways, forbidUnhandled, settle, urls } from '../support/fake-gateways.mjs'

forbidUnhandled(after)

const [a, b, c] = urls('a', 'b', 'c')
const classes = {
  'load-balanced': LoadBalancedRoutingStrategy,
  'fastest': FastestRoutingStrategy,
  'latency-weighted': LatencyWeightedRoutingStrategy,
  'priority': PriorityRoutingStrategy,
}

/** The choices of `times` calls, one after the other. */
async function choices(strategy, times, params) {
  const chosen = []
  for (let call = 0; call < times; call += 1) chosen.push(await strategy.selectGateway(params))
  return chosen
}

/** Tells the strategy `times` times how a gateway did. */
function reportTimes(strategy, times, report) {
  for (let call = 0; call < times; call += 1) strategy.report(report)
}

const share = (chosen, gateway) => chosen.filter((url) => url === gateway).length / chosen.length

for (const [name, Strategy] of Object.entries(classes)) {
  test(`${name}: probes each gateway at most once, by a HEAD to its root, and gives objects of the list`, async (t) => {
    const world = fakeGateways(t, { 'https://': { ms: 5 } })
    const strategy = new Strategy({ gatewaysProvider: countedProvider([a, b, c]) })
    assert.equal(strategy.name, name)
    const chosen = [await strategy.selectGateway({ path: '/x?y', subdomain: 'ardrive' }), await strategy.selectGateway()]
    chosen.push(...(await choices(strategy, 20, { path: '/' })), ...(await choices(strategy, 20, { gateways: [a, b, c] })))
    assert.ok(chosen.every((url) => [a, b, c].includes(url)))
    assert.ok(world.seen.length >= 1)
    for (const request of world.requests()) assert.match(request, /^HEAD https:\/\/[abc]\.test\/$/)
    assert.ok(Object.values(world.counts()).every((count) => count === 1), JSON.stringify(world.counts()))
  })

  test(`${name}: never a gateway whose probe failed while another is healthy`, async (t) => {
    fakeGateways(t, { 'https://a.': 'refuse', 'https://b.': 503, 'https://c.': { ms: 5 } })
    const strategy = new Strategy({})
    for (const chosen of await choices(strategy, 30, { gateways: [a, b, c] })) assert.equal(chosen, c)
  })

  test(`${name}: a gateway of a later list is probed as well, before it is chosen`, async (t) => {
    const world = fakeGateways(t, { 'https://a.': 200, 'https://b.': 'refuse', 'https://c.': 200 })
    const strategy = new Strategy({})
    assert.equal(await strategy.selectGateway({ gateways: [a] }), a)
    for (const chosen of await choices(strategy, 30, { gateways: [b, c] })) assert.equal(chosen, c)
    assert.ok(Object.values(world.counts()).every((count) => count === 1), JSON.stringify(world.counts()))
  })

  test(`${name}: a gateway that is reported as failing is left, and so is one that the call excludes`, async (t) => {
    fakeGateways(t, { 'https://': 200 })
    const strategy = new Strategy({})
    await strategy.selectGateway({ gateways: [a, b] })
    await settle()
    reportTimes(strategy, 20, { gateway: a, ok: false, ms: 5 })
    for (const chosen of await choices(strategy, 10, { gateways: [a, b] })) assert.equal(chosen, b)
    for (const chosen of await choices(strategy, 10, { gateways: [b, c], exclude: [b] })) assert.equal(chosen, c)
  })

  test(`${name}: fails without a gateway, and ends with dead ones only`, async (t) => {
    fakeGateways(t, {})
    await assert.rejects(new Strategy({}).selectGateway({ gateways: [] }), /No gateways/)
    // To offer one that may be dead is as good as to refuse.
    await new Strategy({}).selectGateway({ gateways: [a, b] }).catch(() => undefined)
  })
}

test('fastest: after probing, the quickest', async (t) => {
  const world = fakeGateways(t, { 'https://a.': { ms: 120 }, 'https://b.': { ms: 0 }, 'https://c.': { ms: 60 } })
  const strategy = new FastestRoutingStrategy({})
  for (const chosen of await choices(strategy, 30, { gateways: [a, b, c] })) assert.equal(chosen, b)
  assert.equal(world.seen.filter(({ origin }) => origin === b.origin).length, 1)
})

test('fastest: reports move the choice, and an unknown gateway in a report does no harm', async (t) => {
  fakeGateways(t, { 'https://': 200 })
  const strategy = new FastestRoutingStrategy({})
  await strategy.selectGateway({ gateways: [a, b] })
  reportTimes(strategy, 40, { gateway: a, ok: true, ms: 400 })
  reportTimes(strategy, 40, { gateway: b, ok: true, ms: 40 })
  strategy.report({ gateway: c, ok: true, ms: 1 })
  assert.ok(share(await choices(strategy, 20, { gateways: [a, b] }), b) >= 0.9)
  reportTimes(strategy, 40, { gateway: a, ok: true, ms: 4 })
  assert.ok(share(await choices(strategy, 20, { gateways: [a, b] }), a) >= 0.9)
})

test('latency-weighted: a gateway ten times as quick gets most requests', async (t) => {
  fakeGateways(t, { 'https://': 200 })
  const strategy = new LatencyWeightedRoutingStrategy({})
  await strategy.selectGateway({ gateways: [a, b] })
  reportTimes(strategy, 40, { gateway: a, ok: true, ms: 40 })
  reportTimes(strategy, 40, { gateway: b, ok: true, ms: 400 })
  // Its weight is at least 0.7 against the floor of 0.05: 93 %. Below 75 % of 400 has p < 1e-9.
  const chosen = await choices(strategy, 400, { gateways: [a, b] })
  assert.ok(share(chosen, a) > 0.75, `${share(chosen, a)}`)
})

test('load-balanced: every healthy gateway gets its share, quick or slow', async (t) => {
  fakeGateways(t, { 'https://a.': 200, 'https://b.': { ms: 20 }, 'https://c.': 200 })
  const strategy = new LoadBalancedRoutingStrategy({})
  await strategy.selectGateway({ gateways: [a, b, c] })
  await new Promise((resolve) => setTimeout(resolve, 60))
  const chosen = await choices(strategy, 600, { gateways: [a, b, c] })
  // A third each; below a fifth, 120 of 600, has p < 1e-9.
  for (const gateway of [a, b, c]) assert.ok(share(chosen, gateway) > 0.2, `${gateway} ${share(chosen, gateway)}`)
})

test('priority: the first healthy gateway in the order of the list, however slow', async (t) => {
  fakeGateways(t, { 'https://a.': 'refuse', 'https://b.': { ms: 60 }, 'https://c.': 200 })
  const strategy = new PriorityRoutingStrategy({})
  for (const chosen of await choices(strategy, 20, { gateways: [a, b, c] })) assert.equal(chosen, b)
})
