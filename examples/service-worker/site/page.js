const [chain, ask, answers] = ['chain', 'ask', 'answers'].map((id) => document.getElementById(id))

/** Resolves once requests of this page go through the service worker: not yet so at the very first visit. */
async function control() {
  const { serviceWorker } = navigator
  const taken = new Promise((resolve) => serviceWorker.addEventListener('controllerchange', resolve, { once: true }))
  await serviceWorker.register('service-worker.js')
  if (!serviceWorker.controller) await taken
}

async function call(method, params = []) {
  const response = await fetch(`/rpc/${chain.value}?include_meta=body`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error, lasso_meta: meta } = await response.json()
  if (error) throw new Error(error.message)
  return { result, provider: meta.selected_provider.id, ms: meta.end_to_end_latency_ms }
}

function show(text) {
  const item = document.createElement('li')
  item.textContent = text
  answers.prepend(item)
}

ask.addEventListener('click', async () => {
  try {
    const { result, provider, ms } = await call('eth_blockNumber')
    show(`${chain.value}: block ${Number(result)} from ${provider} in ${ms} ms`)
  } catch (error) {
    show(error.message)
  }
})

await control()
ask.disabled = false
