import { Miniflare } from 'miniflare'
import { createInterface } from 'node:readline'
import { workerOptions } from '../../xtask/workerd.mjs'

/**
 * Starts a Worker in the Workers runtime, for one test: the text of a module, which may import 'waypost', or an example by its name.
 * `options` are more options of miniflare: `kvNamespaces`, `durableObjects`, `outboundService` …
 *
 * Answers with its `url`, with `dispatch(path, init)`, which asks it, and with `log`, the lines that it has printed.
 */
export async function startWorker(t, { script, example, bindings = {}, options = {} }) {
  const log = []
  const collect = (stream) => createInterface(stream).on('line', (line) => log.push(line))
  const worker = new Miniflare({
    ...(await workerOptions(example === undefined ? { script } : { example })),
    bindings,
    handleRuntimeStdio: (...streams) => streams.forEach(collect),
    ...options,
  })
  t.after(() => worker.dispose())
  const url = (await worker.ready).origin
  const dispatch = (path, init) => fetch(new URL(path, url), init)
  return { url, dispatch, log, worker }
}
