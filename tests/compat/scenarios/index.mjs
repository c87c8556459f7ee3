import { client } from './client.mjs'
import { gateways } from './gateways.mjs'
import { routing } from './routing.mjs'
import { urls } from './urls.mjs'

export const scenarios = [...urls, ...gateways, ...routing, ...client]
