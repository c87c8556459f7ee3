/** Events by name: each listener gets the payload of its event. */

import { createRpcClient } from 'waypost';
import type { AttemptClass, AttemptEvent, CircuitEvent, ClientEvent, ClientEvents, RateLimitEvent, RequestEvent } from 'waypost';
import { expectTrue } from './assert.js';
import type { Same } from './assert.js';

const rpc = createRpcClient({ providers: ['https://a.example'] });

expectTrue<Same<keyof ClientEvents, 'attempt' | 'request' | 'circuit' | 'ratelimit'>>();

rpc
  .on('attempt', (event) => expectTrue<Same<typeof event, AttemptEvent>>())
  .on('request', (event) => expectTrue<Same<typeof event, RequestEvent>>())
  .on('circuit', (event) => expectTrue<Same<typeof event, CircuitEvent>>())
  .on('ratelimit', (event) => expectTrue<Same<typeof event, RateLimitEvent>>());

// @ts-expect-error an attempt has no state
rpc.on('attempt', (event) => event.state);
// @ts-expect-error a breaker has no duration
rpc.on('circuit', ({ ms }) => ms);
// @ts-expect-error a limit is for a time, not until one
rpc.on('ratelimit', ({ untilMs }) => untilMs);
// @ts-expect-error a request ends in one of four ways
rpc.on('request', ({ outcome }) => outcome === 'timeout');
// @ts-expect-error payloads are read-only
rpc.on('attempt', (event) => (event.ms = 0));
// @ts-expect-error the event of another name
rpc.on('attempt', (event: CircuitEvent) => event.state);
// @ts-expect-error a listener is a function
rpc.on('attempt', { handleEvent: () => undefined });

const listener = ({ provider, state }: CircuitEvent): string => `${provider} is ${state}`;
rpc.on('circuit', listener).removeListener('circuit', listener);

// Libraries subscribe to EIP-1193's events, which never fire.
const ignore = (): void => undefined;
rpc.on('accountsChanged', ignore).removeListener('accountsChanged', ignore);

// What an outcome tells of the rest.
rpc.on('attempt', (event) => {
  if (event.outcome === 'success') expectTrue<Same<typeof event.class, undefined>>();
  else expectTrue<Same<typeof event.class, AttemptClass>>();
});
rpc.on('request', (event) => {
  if (event.outcome === 'success' || event.outcome === 'error') expectTrue<Same<typeof event.provider, string>>();
  else expectTrue<Same<typeof event.provider, undefined>>();
});

const describe = (event: ClientEvent): string => {
  switch (event.name) {
    case 'attempt':
    case 'request':
      return `${event.method}: ${event.outcome}`;
    case 'circuit':
      return event.state;
    case 'ratelimit':
      return `${event.forMs} ms`;
  }
};
rpc.on('circuit', (event) => describe({ name: 'circuit', ...event }));
// @ts-expect-error the event of another name
rpc.on('circuit', (event) => describe({ name: 'ratelimit', ...event }));
