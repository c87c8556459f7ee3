// The Workers that are compared, in one process of the Workers runtime, and what that process uses.

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { Miniflare } from 'miniflare'
import { workerOptions } from '../../xtask/workerd.mjs'

const sendOn = (upstream) => `fetch('${upstream}', { method: 'POST', headers: { 'content-type': 'application/json' }, body })`

/** The text of each Worker, for the URL of the provider. */
const SCRIPTS = {
  bare: (upstream) => `
    export default {
      async fetch(request) {
        const body = await request.text()
        return ${sendOn(upstream)}
      },
    }`,
  parsing: (upstream) => `
    export default {
      async fetch(request) {
        const body = await request.text()
        const answer = JSON.parse(await (await ${sendOn(upstream)}).text())
        return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } })
      },
    }`,
  waypost: (upstream) => `
    import { createRpcClient, createRpcHandler } from 'waypost'
    const client = createRpcClient({ chains: { ethereum: { providers: ['${upstream}'] } } })
    export default createRpcHandler(client)`,
}

/** The children of this process that are the runtime. */
async function runtimes() {
  const found = []
  for (const pid of await readdir('/proc')) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/.exec(stat) ?? []
    if (name === 'workerd' && Number(parent) === process.pid) found.push(Number(pid))
  }
  return found
}

/**
 * Starts the runtime with these Workers, over one provider. Each has a socket of its own, without the Worker that
 * miniflare else puts in front.
 */
export async function startWorkers(names, upstream) {
  const before = await runtimes()
  const workers = names.map(async (name) => ({
    ...(await workerOptions({ script: SCRIPTS[name](upstream) })),
    name,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  }))
  const miniflare = new Miniflare({ workers: await Promise.all(workers) })
  await miniflare.ready
  const urls = {}
  for (const name of names) urls[name] = (await miniflare.unsafeGetDirectURL(name)).origin
  const [pid] = (await runtimes()).filter((each) => !before.includes(each))
  return { urls, runtime: new Watched(pid), stop: () => miniflare.dispose() }
}

/** What Linux knows about a process. */
class Watched {
  constructor(pid) {
    this.folder = `/proc/${pid}`
  }

  /** CPU time of all threads that live, in microseconds. */
  async cpu() {
    let nanoseconds = 0
    for (const thread of await readdir(`${this.folder}/task`)) {
      const text = await readFile(`${this.folder}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
      nanoseconds += Number(text.split(' ')[0])
    }
    return nanoseconds / 1000
  }

  async #mebibytes(name) {
    const status = await readFile(`${this.folder}/status`, 'utf8')
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)[1]) / 1024
  }

  /** Resident memory now, in MiB. */
  resident() {
    return this.#mebibytes('VmRSS')
  }

  /** The most resident memory since `forgetPeak`, in MiB. */
  peak() {
    return this.#mebibytes('VmHWM')
  }

  forgetPeak() {
    return writeFile(`${this.folder}/clear_refs`, '5')
  }
}
