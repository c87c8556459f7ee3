import { useEffect, useState } from 'react'
import type { AttemptEvent } from 'waypost'
import { useBlock, useChains } from 'wagmi'
import { rpc } from './rpc'

export function App() {
  const chains = useChains()
  return (
    <main>
      <h1>Latest blocks</h1>
      {chains.map(({ id, name }) => (
        <Block key={id} id={id} name={name} />
      ))}
      <h2>Who answered</h2>
      <Attempts />
    </main>
  )
}

function Block({ id, name }: { id: 1 | 8453; name: string }) {
  const { data, error } = useBlock({ chainId: id, watch: true })
  return (
    <p>
      {name}: <output>{error ? error.message : (data?.number.toString() ?? '…')}</output>
    </p>
  )
}

/** The last attempts at any provider, newest first. */
function Attempts() {
  const [attempts, setAttempts] = useState<AttemptEvent[]>([])
  useEffect(() => {
    const note = (attempt: AttemptEvent) => setAttempts((earlier) => [attempt, ...earlier].slice(0, 10))
    rpc.on('attempt', note)
    return () => void rpc.removeListener('attempt', note)
  }, [])
  return (
    <ol>
      {attempts.map(({ chain, method, provider, outcome, ms }, index) => (
        <li key={attempts.length - index}>
          {chain} {method}: {provider}, {outcome} after {ms} ms
        </li>
      ))}
    </ol>
  )
}
