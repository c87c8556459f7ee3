import { outcome } from '../world.mjs'
import { better, same } from './scenario.mjs'

const ID = 'c7wkwt6TKgcWJUfgvpJ5q5qi4DIZyJ1_TqhjXgURh0U'
const SANDBOX = 'oo6cjqw6smvaofrfi7ql5etzvonkfybsdhej272ovbrv4birq5cq'
const ONE_KEY = 'Invalid URL params, only one of the following is allowed: originalUrl, wayfinderUrl, txId, arnsName'

const resolve = (params, gateway = 'https://gw.test') => ({ lib }) => {
  const client = lib.createWayfinderClient({ routingStrategy: new lib.StaticRoutingStrategy({ gateway }) })
  return outcome(() => client.resolveUrl(params))
}
const agree = (url, right, gateway) =>
  same(gateway ? `${url} at ${gateway}` : url, right, resolve({ originalUrl: url }, gateway))
const repair = (url, right, why) => better(url, right, why, resolve({ originalUrl: url }))

export const urls = [
  agree(`ar://${ID}`, `https://${SANDBOX}.gw.test/${ID}`),
  agree(`ar://${ID}/a/b.js`, `https://${SANDBOX}.gw.test/${ID}/a/b.js`),
  agree('ar://ARDRIVE', 'https://ardrive.gw.test/'),
  agree('ar://ardrive/?x=1', 'https://ardrive.gw.test/?x=1'),
  agree('ar://docs_ardrive/a', 'https://docs_ardrive.gw.test/a'),
  agree('ar:///ar-io/info', 'https://gw.test/ar-io/info'),
  agree('ar://ardrive/x?y=1', 'http://localhost:3000/x?y=1', 'http://localhost:3000'),
  agree('ar://ardrive/x', 'http://10.0.0.5/x', 'http://10.0.0.5'),
  agree('ar://ardrive/x', 'https://ardrive.gw.test:8443/x', 'https://gw.test:8443/base/'),
  agree('https://example.com/x', 'error: Invalid URL'),
  same('resolveUrl by id', `https://${SANDBOX}.gw.test/${ID}`, resolve({ txId: ID })),
  same('resolveUrl by name', 'https://ardrive.gw.test/', resolve({ arnsName: 'ardrive' })),
  same('resolveUrl by wayfinderUrl', 'https://ardrive.gw.test/a', resolve({ wayfinderUrl: 'ar://ardrive/a' })),
  same('resolveUrl with two keys', `error: ${ONE_KEY}`, resolve({ txId: ID, arnsName: 'ardrive' })),
  same('resolveUrl with none', `error: ${ONE_KEY}`, resolve({})),
  repair('ar://ardrive?x=1', 'https://ardrive.gw.test/?x=1', 'the query does not belong to the name'),
  repair(`ar://${ID}?x=1`, `https://${SANDBOX}.gw.test/${ID}?x=1`, 'the query does not belong to the id'),
  repair('ar://ardrive/#/route', 'https://ardrive.gw.test/#/route', 'a fragment is a fragment'),
  repair('ar://ardrive/a?b=1?c=2', 'https://ardrive.gw.test/a?b=1?c=2', 'only the first ? starts the query'),
  repair(
    'https://ardrive.arweave.net/x?y=1#z',
    'https://ardrive.gw.test/x?y=1#z',
    'name, query and fragment belong to the address',
  ),
  repair('https://arweave.net.evil.test/x', 'error: Invalid URL', 'a host that only looks like arweave.net is not it'),
]
