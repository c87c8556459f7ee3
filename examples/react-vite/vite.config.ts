import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // Only because `waypost` is a link to a folder here: it is to find the viem of this example, not one of its own.
  resolve: { dedupe: ['viem'] },
})
