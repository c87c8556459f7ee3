/** Drives one request: sends what the engine says, until it ends. */

import { Detail, Step } from './engine.js';
import type { Ticket } from './ticket.js';
import type { Provider } from './topology.js';
import type { Exchange, Lost } from './transport.js';

/** What a run carries: how it is sent, what an answer means, and how the request ends. */
export interface Errand<R, E> {
  send(provider: Provider, timeoutMs: number, done: (reply: R | Lost) => void): Exchange;
  /** Tells the ticket; returns whether the answer is one that the request may end with. */
  judge(attempt: number, reply: R): boolean;
  /** Reads how the engine ended the request. */
  ending(step: number): E;
  aborted(): E;
  /** What must be known before the next attempt; nothing if it is known at once. */
  reroute?(): Promise<void> | undefined;
}

/**
 * Runs a request to its end. It rejects only if something breaks: the ending says what came of it.
 *
 * Callbacks instead of awaits, since several attempts may be under way and any of them may end first.
 */
export function run<R, E>(ticket: Ticket, errand: Errand<R, E>, signal: AbortSignal | undefined): Promise<E> {
  return new Promise((resolve, reject) => new Run(ticket, errand, signal, resolve, reject).start());
}

class Run<R, E> {
  readonly #underWay = new Map<number, Exchange>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isDone = false;
  #isRerouting = false;
  #forgetAbort: (() => void) | undefined;

  constructor(
    readonly ticket: Ticket,
    readonly errand: Errand<R, E>,
    readonly signal: AbortSignal | undefined,
    readonly resolve: (ending: E) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  start(): void {
    this.#forgetAbort = this.ticket.core.whenAborted(this.signal, () => this.#abort());
    if (!this.#isDone) this.#reroute(() => this.#advance());
  }

  #abort(): void {
    if (this.#isDone) return;
    this.ticket.abort();
    this.#end(this.errand.aborted(), true);
  }

  /** Whatever goes wrong in here must settle the promise. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#isDone = true;
      this.#stopWaiting();
      this.#forgetAbort?.();
      for (const exchange of [...this.#underWay.values()]) exchange.abandon();
      this.reject(this.ticket.discard(error));
    }
  }

  /** Lets the errand prepare the next attempt. Whoever comes while it does is served by the one that waits. */
  #reroute(work: () => void): void {
    if (this.#isRerouting) return;
    const ready = this.errand.reroute?.();
    if (ready === undefined) return work();
    this.#isRerouting = true;
    const go = (): void => {
      this.#isRerouting = false;
      if (!this.#isDone) work();
    };
    ready.then(go, (error: unknown) =>
      this.#guard(() => {
        throw error;
      }),
    );
  }

  #advance(): void {
    this.#guard(() => {
      this.#stopWaiting();
      const step = this.ticket.next();
      const { engine } = this.ticket;
      if (step === Step.Send) this.#send();
      else if (step === Step.Wait) this.#later(engine.detail(Detail.Wait), () => this.#reroute(() => this.#advance()));
      else if (step !== Step.Pending) this.#end(this.errand.ending(step), false);
    });
  }

  #send(): void {
    const { core, engine } = this.ticket;
    const attempt = engine.detail(Detail.Attempt);
    const backupMs = engine.detail(Detail.Backup);
    const timeoutMs = engine.detail(Detail.Timeout);
    const provider = core.provider(engine.detail(Detail.Endpoint));
    this.ticket.open(attempt, provider);
    this.#underWay.set(attempt, this.errand.send(provider, timeoutMs, (reply) => this.#receive(attempt, reply)));
    if (backupMs >= 0) this.#later(backupMs, () => this.#reroute(() => this.#backUp()));
  }

  #backUp(): void {
    this.#guard(() => {
      const { core, engine, handle } = this.ticket;
      if (engine.backup(core.now(), handle) === Step.Send) this.#send();
      // An attempt may have ended while the errand prepared this one.
      else this.#advance();
    });
  }

  #receive(attempt: number, reply: R | Lost): void {
    // A trial that outlives its request may outlive the client.
    if (this.#isDone && this.ticket.core.isDisposed) return;
    this.#guard(() => {
      this.#underWay.delete(attempt);
      const isAnswer = !isLost(reply) && this.errand.judge(attempt, reply);
      if (isLost(reply)) this.ticket.lose(attempt, reply.how);
      if (this.#isDone) return;
      this.#stopWaiting();
      if (isAnswer) this.#advance();
      else this.#reroute(() => this.#advance());
    });
  }

  /** A trial that lost against its backup goes on, so that the engine learns how it ends. */
  #end(ending: E, stopTrials: boolean): void {
    this.#isDone = true;
    this.#stopWaiting();
    this.#forgetAbort?.();
    const { engine, handle } = this.ticket;
    for (const [attempt, exchange] of [...this.#underWay]) {
      if (stopTrials || !engine.isTrial(handle, attempt)) exchange.abandon();
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

function isLost<R>(reply: R | Lost): reply is Lost {
  return (reply as Lost).kind === 'lost';
}
