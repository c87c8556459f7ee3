// The provider behind the Workers, in a process of its own: it answers each method with as many logs as that stands for.

import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { answerWith } from './content-process.mjs'

const MIB = 1024 * 1024
/** MiB of an answer. */
const SIZES = { eth_blockNumber: 0, eth_getLogs: 5, debug_traceBlockByNumber: 100 }

const word = (number) => `0x${number.toString(16).padStart(64, '0')}`
const log = (number) =>
  JSON.stringify({
    address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    topics: [word(0xddf252ad), word(number), word(number + 1)],
    data: word(number * 1000),
    blockNumber: '0x1312d00',
    transactionHash: word(number << 8),
    transactionIndex: `0x${(number % 200).toString(16)}`,
    blockHash: word(0x1312d00),
    logIndex: `0x${number.toString(16)}`,
    removed: false,
  })

function block() {
  let text = log(0)
  for (let number = 1; text.length < MIB; number += 1) text += `,${log(number)}`
  return Buffer.from(text)
}

const BLOCK = block()
const COMMA = Buffer.from(',')

function* logs(id, count) {
  yield Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":[`)
  for (let index = 0; index < count; index += 1) {
    if (index > 0) yield COMMA
    yield BLOCK
  }
  yield Buffer.from(']}')
}

function answer(response, body) {
  const [, id] = /"id":("[^"]*"|\d+)/.exec(body)
  const [, method] = /"method":"(\w+)"/.exec(body)
  const count = SIZES[method]
  response.setHeader('content-type', 'application/json')
  if (count === 0) {
    const text = `{"jsonrpc":"2.0","id":${id},"result":"0x1312d00"}`
    response.setHeader('content-length', text.length)
    return response.end(text)
  }
  // Whoever cannot take it all has gone away, and says so itself.
  return pipeline(Readable.from(logs(id, count), { highWaterMark: 2 }), response).catch(() => {})
}

async function listen() {
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => answer(response, Buffer.concat(chunks).toString()))
  })
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

answerWith({ listen })
