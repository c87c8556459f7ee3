/**
 * Drives a batch. Every member is a request of its own for the engine; those that go to the same provider
 * travel together, and only the ones that failed travel again.
 */

import { choose } from './choice.js';
import type { Core } from './core.js';
import { Detail, Loss, NONE, Step, Success } from './engine.js';
import { elementTexts, parseJson, rawMember } from './json.js';
import type { Reading } from './reply.js';
import { hasId, readEnvelope, readReply } from './reply.js';
import type { Ending, Payload, Ticket } from './ticket.js';
import type { Provider } from './topology.js';
import type { Exchange, Reply } from './transport.js';
import { post } from './transport.js';

/** One member on its way. */
export interface Member {
  ticket: Ticket;
  payload: Payload;
  attempt: number;
  result: unknown;
  ending: Ending | undefined;
}

/** Runs all members to their ends. */
export async function runBatch(core: Core, members: Member[], signal: AbortSignal | undefined): Promise<void> {
  const batch = new Batch(core);
  const forgetAbort = core.whenAborted(signal, () => batch.abort());
  try {
    await Promise.all(members.map(({ ticket }) => choose(ticket, signal)));
    await batch.run(members);
  } catch (error) {
    throw members.map(({ ticket }) => ticket.discard(error))[0];
  } finally {
    forgetAbort();
  }
}

class Batch {
  readonly #underWay = new Set<Exchange>();
  #wake: (() => void) | undefined;
  #isAborted = false;

  constructor(readonly core: Core) {}

  abort(): void {
    this.#isAborted = true;
    for (const sent of [...this.#underWay]) sent.abandon();
    this.#wake?.();
  }

  async run(members: Member[]): Promise<void> {
    for (;;) {
      const pending = members.filter((member) => member.ending === undefined);
      if (pending.length === 0) return;
      if (this.#isAborted) {
        for (const member of pending) {
          member.ticket.abort();
          member.ending = { kind: 'aborted' };
        }
        return;
      }
      const waitMs = await this.#wave(pending);
      if (waitMs !== undefined) await this.#sleep(waitMs);
    }
  }

  /** Sends one wave; or says how long to wait if nobody may be asked yet. */
  async #wave(pending: Member[]): Promise<number | undefined> {
    let waitMs: number | undefined;
    for (const leader of pending) {
      const step = leader.ticket.next();
      const { core } = this;
      const { engine } = leader.ticket;
      if (step === Step.Wait) {
        waitMs = Math.min(waitMs ?? Infinity, engine.detail(Detail.Wait));
      } else if (step === Step.Send) {
        const provider = core.provider(engine.detail(Detail.Endpoint));
        const timeoutMs = engine.detail(Detail.Timeout);
        leader.attempt = engine.detail(Detail.Attempt);
        leader.ticket.open(leader.attempt, provider);
        const riders = pending.filter((member) => member !== leader && joins(member, provider));
        await this.#deliver(provider, [leader, ...riders], core.now() + timeoutMs);
        return undefined;
      } else if (step !== Step.Pending) {
        finish(leader, step);
      }
    }
    return waitMs;
  }

  /** Sends members in portions that the provider takes; a refused portion is halved. */
  async #deliver(provider: Provider, members: Member[], until: number): Promise<void> {
    const { core } = this;
    for (let rest = members; rest.length > 0; ) {
      const portion = rest.slice(0, provider.maxBatch);
      const body = portion.length === 1 ? portion[0]?.payload.body : `[${portion.map(({ payload }) => payload.body).join(',')}]`;
      const leftMs = Math.max(1, until - core.now());
      const reply = await this.#exchange(provider, body ?? '', leftMs);
      const limit = portion.length > 1 && reply.kind === 'body' ? refusedLimit(reply, portion.length) : undefined;
      if (limit !== undefined) {
        provider.maxBatch = limit;
        continue;
      }
      judge(portion, reply);
      rest = rest.slice(portion.length);
      if (reply.kind === 'lost') {
        // The others would share its fate; they have not been sent.
        for (const member of rest) member.ticket.lose(member.attempt, Loss.Abandoned);
        return;
      }
    }
  }

  #exchange(provider: Provider, body: string, ms: number): Promise<Reply> {
    return new Promise((resolve) => {
      const sent = post(this.core, provider, body, ms, (reply) => {
        this.#underWay.delete(sent);
        resolve(reply);
      });
      this.#underWay.add(sent);
    });
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.core.later(ms, resolve);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Lets a member join the attempt at a provider, if the engine agrees. */
function joins(member: Member, provider: Provider): boolean {
  const { core, engine, handle } = member.ticket;
  const attempt = engine.ride(core.now(), handle, provider.place);
  if (attempt === NONE) return false;
  member.attempt = attempt;
  member.ticket.open(attempt, provider);
  return true;
}

function finish(member: Member, step: number): void {
  const { ticket, payload } = member;
  member.ending = ticket.ending(step, payload, () => member.result);
}

/** Tells every member of a portion what came back for it. */
function judge(portion: Member[], reply: Reply): void {
  if (reply.kind === 'lost') {
    for (const { ticket, attempt } of portion) ticket.lose(attempt, reply.how);
    return;
  }
  const readings = readPortion(portion, reply);
  portion.forEach((member, index) => {
    const reading = readings[index] ?? { kind: 'bad' };
    if (reading.kind === 'bad') member.ticket.lose(member.attempt, Loss.BadBody);
    else if (reading.kind === 'http') member.ticket.fail(member.attempt, reply, undefined, reading.text);
    else if (reading.kind === 'error') member.ticket.fail(member.attempt, reply, reading.error, '');
    else {
      member.result = reading.result;
      member.ticket.succeed(member.attempt, Success.Result);
    }
  });
}

/** The reading of each member, found by its id. */
function readPortion(portion: Member[], reply: Reply & { kind: 'body' }): (Reading | undefined)[] {
  const first = portion[0] as Member;
  const { mode } = first.payload;
  const one = readReply(reply.status, reply.text, first.payload.id, mode);
  if (portion.length === 1) return [one];
  const list = parsed(reply.text, mode === 'bigint' ? mode : 'json');
  if (!Array.isArray(list)) {
    // One error for the whole batch is an error of each member.
    return portion.map(() => (one.kind === 'result' ? undefined : one));
  }
  const texts = mode === 'raw' ? elementTexts(reply.text) : undefined;
  return portion.map(({ payload }) => {
    const at = list.findIndex((entry) => hasId(entry, payload.id));
    if (at < 0) return undefined;
    const reading = readEnvelope(list[at], payload.id);
    const text = texts?.[at];
    if (reading.kind !== 'result' || text === undefined) return reading;
    return { kind: 'result', result: rawMember(text, 'result') };
  });
}

/** What a text is as JSON; nothing if it is none. */
function parsed(text: string, mode: 'json' | 'bigint'): unknown {
  try {
    return parseJson(text, mode);
  } catch {
    return undefined;
  }
}

/** How many members the provider seems to take, if what it says is that these are too many. */
function refusedLimit(reply: Reply & { kind: 'body' }, size: number): number | undefined {
  const message = batchError(reply.text);
  const isRefusal = message === undefined ? [400, 405, 413, 415, 422].includes(reply.status) : /batch/i.test(message);
  if (!isRefusal) return undefined;
  const named = Number(/\b\d+\b/.exec(message ?? '')?.[0]);
  return named >= 1 && named < size ? named : Math.max(1, Math.floor(size / 2));
}

/** The text of the one error that stands for all answers. Some providers send it in an array of its own. */
function batchError(text: string): string | undefined {
  const answer = parsed(text, 'json');
  const { error } = Object(Array.isArray(answer) && answer.length === 1 ? answer[0] : answer);
  return typeof error === 'object' && error !== null ? String(error.message) : undefined;
}
