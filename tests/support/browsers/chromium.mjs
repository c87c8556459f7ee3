import { chromium } from 'playwright-core'

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
]

/** What tests may ask for and Chromium has not. */
export const LACKS = {}

/** Whether an error of a page is the browser's own note of what it could not load; those are no errors here. */
export const isReport = () => false

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS })
