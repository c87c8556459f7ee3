/** Serves a posted transaction by its id from a real gateway, which `cargo xtask compat` installed. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/port.mjs'
import { importInstalled } from './installed.mjs'

const FOLDER = new URL('../../target/compat/arlocal/', import.meta.url)
const PROGRAM = fileURLToPath(new URL('node_modules/arlocal/bin/index.js', FOLDER))
const START_BUDGET_MS = 60_000
const BODY = 'posted to a real gateway\n'

const text = async (url) => {
  const response = await fetch(url)
  assert.ok(response.ok, `${url} answered ${response.status}`)
  return response.text()
}

async function start(port) {
  const child = spawn(process.execPath, [PROGRAM, `${port}`, '--hidelogs', '--dbpath', 'db'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const giveUpAt = Date.now() + START_BUDGET_MS
  while (!(await text(`http://localhost:${port}/info`).catch(() => false))) {
    assert.equal(child.exitCode, null, `arlocal ended with exit code ${child.exitCode}`)
    assert.ok(Date.now() < giveUpAt, `arlocal gave no answer within ${START_BUDGET_MS} ms`)
    await delay(100)
  }
  return child
}

/** Posts a transaction with this body, and answers with its id. */
async function post(port, data) {
  const { default: Arweave } = await importInstalled('arweave', 'arlocal')
  const arweave = Arweave.init({ host: 'localhost', port, protocol: 'http' })
  const key = await arweave.wallets.generate()
  await text(`http://localhost:${port}/mint/${await arweave.wallets.jwkToAddress(key)}/1000000000000`)
  const transaction = await arweave.createTransaction({ data }, key)
  transaction.addTag('Content-Type', 'text/plain')
  await arweave.transactions.sign(transaction, key)
  const { status, statusText } = await arweave.transactions.post(transaction)
  assert.equal(status, 200, `posting answered ${status} ${statusText}`)
  await text(`http://localhost:${port}/mine`)
  return transaction.id
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
const port = await freePort()
const child = await start(port)
const id = await post(port, BODY)

const { createWayfinderClient, StaticRoutingStrategy } = await importInstalled('waypost')
const routingStrategy = new StaticRoutingStrategy({ gateway: `http://localhost:${port}` })
const response = await createWayfinderClient({ routingStrategy }).request(`ar://${id}`)
assert.equal(response.status, 200)
assert.equal(await response.text(), BODY)
console.log(`arlocal served ar://${id}: ${BODY.length} bytes, as posted`)

const exit = once(child, 'exit')
child.kill('SIGKILL')
await exit
rmSync(new URL('db', FOLDER), { recursive: true, force: true })
