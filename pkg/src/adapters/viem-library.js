// In a file of its own, whose types are written down beside it: ours are not to depend on those of viem.
export { createTransport } from 'viem'
