/** A call on its way through: its result is passed on as bytes, and read only as far as the envelope needs it. */

import { chunksOf } from '../chunks.js';
import type { ChunkReader } from '../chunks.js';
import { Loss, Success } from '../engine.js';
import { WaypostError } from '../errors.js';
import type { Errand } from '../run.js';
import { RpcErrand } from '../rpc-errand.js';
import type { Ending, Payload, Ticket } from '../ticket.js';
import type { Provider } from '../topology.js';
import { exchange, stampsOf } from '../transport.js';
import type { Body, Exchange, Lost } from '../transport.js';
import { EnvelopeScanner } from './envelope.js';

/** Answers up to here are read as a whole, so that a bad one can still be replaced by another provider's. */
const MOST_BUFFERED = 262_144;

/** A long answer, of which the first part looked good. */
export interface Streamed {
  kind: 'stream';
  provider: Provider;
  scanner: EnvelopeScanner;
  /** Of the result. */
  parts: Uint8Array[];
  reader: ChunkReader;
  /** The id that it must have. */
  id: number;
  controller: AbortController;
}

export type PassedEnding = Ending | Streamed;

/** Fetches that one request to the handler may still make. */
export interface Budget {
  left: number;
}

export class PassingErrand implements Errand<Body | Streamed, PassedEnding> {
  readonly #inner: RpcErrand;
  #streamed: Streamed | undefined;
  #isOver = false;
  #underWay = 0;

  constructor(
    readonly ticket: Ticket,
    readonly payload: Payload,
    readonly signal: AbortSignal | undefined,
    readonly budget: Budget,
  ) {
    this.#inner = new RpcErrand(ticket, payload, signal);
  }

  reroute(): Promise<void> | undefined {
    return this.#inner.reroute();
  }

  send(provider: Provider, timeoutMs: number, done: (reply: Body | Streamed | Lost) => void): Exchange {
    if (this.budget.left <= 0) {
      // A backup is not worth failing for: the attempt beside it may bring the answer.
      if (this.#underWay > 0) return unsent(done);
      throw new WaypostError('unavailable', 'The fetches that maxSubrequests allows are used up.');
    }
    this.budget.left -= 1;
    this.#underWay += 1;
    const { core } = this.ticket;
    const { body, id } = this.payload;
    const receive = async (controller: AbortController, onHeaders: () => void): Promise<Body | Streamed> => {
      const { signal } = controller;
      const response = await core.fetch(provider.url, { method: 'POST', headers: provider.headers, body, signal });
      onHeaders();
      return readStart(response, provider, id, controller);
    };
    return exchange(core, timeoutMs, receive, (reply) => {
      this.#underWay -= 1;
      done(reply);
    });
  }

  judge(attempt: number, reply: Body | Streamed): boolean {
    if (reply.kind === 'body') return this.#inner.judge(attempt, reply);
    this.ticket.succeed(attempt, Success.Result);
    if (this.#isOver) reply.controller.abort();
    else this.#streamed = reply;
    return true;
  }

  ending(step: number): PassedEnding {
    this.#isOver = true;
    return this.#streamed ?? this.#inner.ending(step);
  }

  aborted(): PassedEnding {
    this.#isOver = true;
    this.#streamed?.controller.abort();
    return this.#inner.aborted();
  }
}

/** An attempt that is not made, as far as the run knows. */
function unsent(done: (reply: Lost) => void): Exchange {
  let isDone = false;
  const abandon = (): void => {
    if (!isDone) done({ kind: 'lost', how: Loss.Abandoned });
    isDone = true;
  };
  queueMicrotask(abandon);
  return { abandon };
}

async function readStart(response: Response, provider: Provider, id: number, controller: AbortController): Promise<Body | Streamed> {
  const { status, body } = response;
  const read = (text: string): Body => ({ kind: 'body', status, text, ...stampsOf(response) });
  if (typeof body?.getReader !== 'function' || isShort(response)) return read(await response.text());
  const reader = chunksOf(body);
  const chunks: Uint8Array[] = [];
  for (let size = 0; size <= MOST_BUFFERED; ) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return read(decoded(chunks));
    chunks.push(value);
    size += value.byteLength;
  }
  const scanner = new EnvelopeScanner();
  const parts = chunks.map((chunk) => scanner.push(chunk)).filter(({ length }) => length > 0);
  const isGood = response.ok && scanner.hasResult && isOurs(scanner, id);
  if (isGood) return { kind: 'stream', provider, scanner, parts, reader, id, controller };
  // An error that long says nothing, and a result that is not in sight cannot be passed on.
  controller.abort();
  return read('');
}

/** Whether the answer is surely short, so that the platform may read it at once. */
function isShort({ headers }: Response): boolean {
  const length = headers.get('content-length');
  return length !== null && Number(length) <= MOST_BUFFERED && !headers.has('content-encoding');
}

/** Whether nothing that has been read so far says that this is not the answer to our call. */
export function isOurs({ isBroken, hasError, id }: EnvelopeScanner, ours: number): boolean {
  return !isBroken && !hasError && (id === undefined || id === String(ours) || id === `"${ours}"`);
}

function decoded(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
}
