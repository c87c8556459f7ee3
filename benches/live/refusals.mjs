// Connections that were refused: nobody counts them at the other end.

import { subscribe } from 'node:diagnostics_channel'

const refusals = new Map()
subscribe('net.client.socket', ({ socket }) => {
  socket.once('error', ({ code, port }) => {
    if (code === 'ECONNREFUSED') refusals.set(port, (refusals.get(port) ?? 0) + 1)
  })
})

/** How many this process has met at a port of this machine. */
export const refusedAt = (port) => refusals.get(port) ?? 0
