/** Drives one request: sends what the engine says, until it ends. */

import { Detail, Loss, Step } from './engine.js';
import type { Reply } from './transport.js';
import { exchange } from './transport.js';
import type { Exchange } from './transport.js';
import { readReply } from './reply.js';
import type { Ending, Payload, Ticket } from './ticket.js';

/**
 * Runs a request to its end. It never rejects: the ending says what came of it.
 *
 * Callbacks instead of awaits, since several attempts may be under way and any of them may end first.
 */
export function run(ticket: Ticket, payload: Payload, signal: AbortSignal | undefined): Promise<Ending> {
  return new Promise((resolve, reject) => new Run(ticket, payload, signal, resolve, reject).start());
}

class Run {
  readonly #underWay = new Map<number, { exchange: Exchange; isTrial: boolean }>();
  readonly #results = new Map<number, unknown>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isDone = false;
  #forgetAbort: (() => void) | undefined;

  constructor(
    readonly ticket: Ticket,
    readonly payload: Payload,
    readonly signal: AbortSignal | undefined,
    readonly resolve: (ending: Ending) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  start(): void {
    this.#forgetAbort = this.ticket.core.whenAborted(this.signal, () => this.#abort());
    if (!this.#isDone) this.#advance();
  }

  #abort(): void {
    if (this.#isDone) return;
    this.ticket.abort();
    this.#end({ kind: 'aborted' }, true);
  }

  /** Whatever goes wrong in here must settle the promise. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#isDone = true;
      this.#stopWaiting();
      this.#forgetAbort?.();
      this.ticket.core.revive(error, this.ticket.engine);
      for (const { exchange } of [...this.#underWay.values()]) exchange.abandon();
      this.reject(error);
    }
  }

  #advance(): void {
    this.#guard(() => {
      const step = this.ticket.next();
      const { engine } = this.ticket;
      if (step === Step.Send) this.#send();
      else if (step === Step.Wait) this.#later(engine.detail(Detail.Wait), () => this.#advance());
      else if (step !== Step.Pending) this.#finish(step);
    });
  }

  #send(): void {
    const { core, engine } = this.ticket;
    const attempt = engine.detail(Detail.Attempt);
    const backupMs = engine.detail(Detail.Backup);
    const timeoutMs = engine.detail(Detail.Timeout);
    const provider = core.provider(engine.detail(Detail.Endpoint));
    this.ticket.open(attempt, provider);
    const sent = exchange(core, provider, this.payload.body, timeoutMs, (reply) => this.#receive(attempt, reply));
    this.#underWay.set(attempt, { exchange: sent, isTrial: backupMs >= 0 });
    if (backupMs >= 0) this.#later(backupMs, () => this.#backUp());
  }

  #backUp(): void {
    this.#guard(() => {
      const { core, engine, handle } = this.ticket;
      if (engine.backup(core.now(), handle) === Step.Send) this.#send();
    });
  }

  #receive(attempt: number, reply: Reply): void {
    this.#guard(() => {
      this.#underWay.delete(attempt);
      this.#judge(attempt, reply);
      if (!this.#isDone) {
        this.#stopWaiting();
        this.#advance();
      }
    });
  }

  #judge(attempt: number, reply: Reply): void {
    const { ticket, payload } = this;
    if (reply.kind === 'lost') return ticket.lose(attempt, reply.how);
    const reading = readReply(reply.status, reply.text, payload.id, payload.mode);
    if (reading.kind === 'bad') ticket.lose(attempt, Loss.BadBody);
    else if (reading.kind === 'http') ticket.fail(attempt, reply, undefined, reading.text);
    else if (reading.kind === 'error') ticket.fail(attempt, reply, reading.error, '');
    else {
      this.#results.set(attempt, reading.result);
      ticket.succeed(attempt);
    }
  }

  #finish(step: number): void {
    const { ticket, payload } = this;
    this.#end(ticket.ending(step, payload, (attempt) => this.#results.get(attempt)), false);
  }

  /** A trial that lost against its backup goes on, so that the engine learns how it ends. */
  #end(ending: Ending, stopTrials: boolean): void {
    this.#isDone = true;
    this.#stopWaiting();
    this.#forgetAbort?.();
    for (const { exchange, isTrial } of [...this.#underWay.values()]) {
      if (stopTrials || !isTrial) exchange.abandon();
    }
    this.resolve(ending);
  }

  #later(ms: number, work: () => void): void {
    this.#timer = this.ticket.core.later(ms, work);
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
