/** A JSON-RPC request as the run carries it. */

import { choose } from './choice.js';
import { Loss, Success } from './engine.js';
import { isDoubtful } from './hedging.js';
import { readReply } from './reply.js';
import type { Errand } from './run.js';
import type { Ending, Payload, Ticket } from './ticket.js';
import type { Provider } from './topology.js';
import { post } from './transport.js';
import type { Body, Exchange, Reply } from './transport.js';

export class RpcErrand implements Errand<Body, Ending> {
  readonly #results = new Map<number, unknown>();
  #hasChosen = false;

  constructor(
    readonly ticket: Ticket,
    readonly payload: Payload,
    readonly signal: AbortSignal | undefined,
  ) {}

  /** A strategy object chooses once, before the first attempt. */
  reroute(): Promise<void> | undefined {
    if (this.#hasChosen || this.ticket.route.chooser === undefined) return undefined;
    this.#hasChosen = true;
    return choose(this.ticket, this.signal);
  }

  send(provider: Provider, timeoutMs: number, done: (reply: Reply) => void): Exchange {
    return post(this.ticket.core, provider, this.payload.body, timeoutMs, done);
  }

  judge(attempt: number, reply: Body): boolean {
    const { ticket, payload } = this;
    const reading = readReply(reply.status, reply.text, payload.id, payload.mode);
    if (reading.kind === 'bad') ticket.lose(attempt, Loss.BadBody);
    else if (reading.kind === 'http') ticket.fail(attempt, reply, undefined, reading.text);
    else if (reading.kind === 'error') ticket.fail(attempt, reply, reading.error, '');
    else {
      this.#results.set(attempt, reading.result);
      ticket.succeed(attempt, isDoubtful(ticket.route.method, reading.result) ? Success.Doubtful : Success.Result);
      return true;
    }
    return false;
  }

  ending(step: number): Ending {
    return this.ticket.ending(step, this.payload, (attempt) => this.#results.get(attempt));
  }

  aborted(): Ending {
    return { kind: 'aborted' };
  }
}
