import { firefox } from 'playwright-core'

/** What tests may ask for and Firefox, as it is steered here, has not. */
export const LACKS = { 'color schemes': 'this version of Firefox lets WebDriver BiDi set none' }

/** Firefox reports what it could not load as if it were an error of the page. */
export const isReport = ({ stack }) => /^(Cross-Origin Request Blocked|Failed to load ‘)/.test(stack)

/** Firefox as it is released: the channel makes playwright speak WebDriver BiDi, not the protocol of its own build. */
export async function launch() {
  const browser = await firefox.launch({ channel: 'moz-firefox', executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr' })
  // Playwright sets a color scheme for every context, and takes a refusal for a failure.
  const session = browser._connection.toImpl(browser)._browserSession
  const send = session.send.bind(session)
  session.send = (method, ...rest) => (method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send(method, ...rest))
  return browser
}
