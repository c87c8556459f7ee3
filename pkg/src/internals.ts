/** The inside of a client, for the parts of the package that are not the client. */

import type { Core } from './core.js';
import { WaypostError } from './errors.js';
import type { Ending, Payload, Ticket } from './ticket.js';
import type { RequestOptions } from './types.js';

/** A call whose params are passed on as they were written. */
export interface RawCall {
  method: string;
  params: unknown;
  rawParams: string | undefined;
}

/** What the HTTP handler needs of a client. */
export interface Internals {
  readonly core: Core;
  /** Finds out whether a request may go where its options say. */
  resolve(options: RequestOptions): void;
  open(call: RawCall, options: RequestOptions): { ticket: Ticket; payload: Payload };
  confirm(ticket: Ticket, ending: Ending, payload: Payload, options: RequestOptions): Promise<Ending>;
  afterwards(ticket: Ticket, ending: Ending, payload: Payload): void;
}

const known = new WeakMap<object, Internals>();

/** Called once by each client. */
export function provideInternals(client: object, internals: Internals): void {
  known.set(client, internals);
}

/** The inside of a client. */
export function internalsOf(client: object): Internals {
  const internals = known.get(client);
  if (internals === undefined) throw new WaypostError('invalid_option', 'This is no client of createRpcClient().');
  return internals;
}
