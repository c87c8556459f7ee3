/** A request for content as the run carries it. */

import { Detail, Step, Success } from '../engine.js';
import type { GatewayCore } from '../gateway-core.js';
import type { Errand } from '../run.js';
import type { FailureReason, Ticket } from '../ticket.js';
import type { Provider } from '../topology.js';
import { exchange, stampsOf } from '../transport.js';
import type { Exchange, Lost } from '../transport.js';
import type { Selection } from './selection.js';
import type { DataRetrievalStrategy } from './types.js';
import { gatewayUrl } from './url.js';

/** An answer whose body has not been read. */
export interface Arrival {
  readonly response: Response;
  readonly gateway: URL;
  readonly url: URL;
  /** Stops the body. */
  readonly controller: AbortController;
}

/** How a request for content ended. */
export type ContentEnding = { arrival: Arrival } | { error: unknown } | undefined;

function reasonOf(step: number): FailureReason {
  if (step === Step.Indeterminate) return 'indeterminate';
  if (step === Step.Deadline) return 'deadline';
  return step === Step.RateLimited ? 'rate_limited' : 'exhausted';
}

export class ContentErrand implements Errand<Arrival, ContentEnding> {
  #answer: Arrival | undefined;
  /** The last answer that was not good: better than none. */
  #poor: Arrival | undefined;
  /** What the last attempt without an answer has thrown. */
  #cause: unknown;
  #isOver = false;
  #offered = 0;

  constructor(
    readonly core: GatewayCore,
    readonly ticket: Ticket,
    readonly selection: Selection,
    readonly init: RequestInit,
    readonly retrieval: DataRetrievalStrategy | undefined,
  ) {}

  reroute(): Promise<void> | undefined {
    const { selection } = this;
    if (!selection.isOpen) return undefined;
    return selection.choose().then((gateway) => {
      const { core, ticket } = this;
      const { engine, handle } = ticket;
      const place = gateway && core.place(gateway);
      if (gateway !== undefined && place !== undefined) selection.known.set(place, gateway);
      const fresh = [...selection.known.keys()].slice(this.#offered);
      this.#offered += fresh.length;
      engine.offer(core.now(), handle, Uint32Array.from(fresh));
      if (place !== undefined) engine.prefer(core.now(), handle, place);
    });
  }

  send(provider: Provider, timeoutMs: number, done: (reply: Arrival | Lost) => void): Exchange {
    const { core, selection, init, retrieval } = this;
    const named = selection.known.get(provider.place);
    // A place may have become another gateway's since.
    const gateway = named?.origin === provider.url ? named : new URL(provider.url);
    const url = gatewayUrl(gateway, selection.target);
    selection.spend(gateway);
    const receive = async (controller: AbortController): Promise<Arrival> => {
      const { signal } = controller;
      const response = await (retrieval === undefined
        ? core.fetch(url.href, { ...init, signal })
        : retrieval.getData({ gateway, requestUrl: url, headers: Object.fromEntries(new Headers(init.headers)), signal }));
      if (typeof Object(response).status !== 'number') throw new Error('What came back is no Response.');
      const arrival = { response, gateway, url, controller };
      // A `fetch` that ignores its signal may come back after its time.
      if (signal.aborted) discard(arrival);
      return arrival;
    };
    return exchange(core, timeoutMs, receive, (reply) => {
      if ('error' in reply && reply.error !== undefined) this.#cause = reply.error;
      done(reply);
    });
  }

  judge(attempt: number, arrival: Arrival): boolean {
    const { ticket } = this;
    const { response } = arrival;
    const { status } = response;
    const isPoor = status >= 500 || status === 429;
    if (isPoor) ticket.fail(attempt, { status, ...stampsOf(response) }, undefined, '');
    else ticket.succeed(attempt, status >= 400 ? Success.Declined : Success.Result);
    if (this.#isOver) {
      discard(arrival);
    } else if (isPoor) {
      discard(this.#poor);
      this.#poor = arrival;
    } else {
      this.#answer = arrival;
    }
    return !isPoor;
  }

  ending(step: number): ContentEnding {
    this.#isOver = true;
    if (step === Step.Aborted) return this.aborted();
    const arrival = this.#answer ?? this.#poor;
    if (arrival !== this.#poor) discard(this.#poor);
    if (arrival !== undefined) return { arrival };
    const { ticket, selection } = this;
    // Nobody could be asked: why is the strategy's to say.
    if (ticket.records().length === 0 && selection.error !== undefined) return { error: selection.error };
    const waitMs = ticket.engine.detail(Detail.Wait);
    const retryAfterMs = waitMs < 0 ? undefined : waitMs;
    return { error: ticket.failure(reasonOf(step), retryAfterMs, this.#cause ?? selection.error) };
  }

  aborted(): undefined {
    this.#isOver = true;
    discard(this.#answer);
    discard(this.#poor);
    return undefined;
  }
}

/** Closes the connection of an answer that nobody will read. */
function discard(arrival: Arrival | undefined): void {
  if (arrival === undefined) return;
  arrival.controller.abort();
  // The controller does not reach a body that somebody else has made.
  void arrival.response.body?.cancel().catch(() => undefined);
}
