import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import { DomainError } from '../../../core/domain-error.js';
import type { InvocationOutcome } from '../../../upstreams/invocation.js';
import { relayEvents } from './relay-events.js';
import type { RelayPlan } from './relay-plan.js';

const MEMORY = 1024 * 1024;
const SHARED = { callerId: '7', sentId: '"sbx-1"' };
const OWN = { callerId: '7' };
const PRIMING = 'id: e1\ndata: \n\n';
const PROGRESS = event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } });

function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

function answerTo(id: string | number): string {
  return event({ result: { content: [] }, jsonrpc: '2.0', id });
}

/** A stream of an upstream that stays open until it is ended or destroyed. */
function openStream(...chunks: string[]): Readable {
  const body = new Readable({ read: () => undefined });
  for (const chunk of chunks) body.push(chunk);
  return body;
}

function relay(body: Readable, ids: Pick<RelayPlan, 'callerId' | 'sentId'>, settle?: RelayPlan['settle']) {
  const outcomes: InvocationOutcome[] = [];
  const plan: RelayPlan = {
    ...ids,
    acceptsStream: true,
    request: { id: 'request' } as FastifyRequest,
    reply: {} as FastifyReply,
    rooms: new AnswerRooms(new AnswerBudget(MEMORY)),
    isModern: false,
    isList: false,
    isOfTask: false,
    onListChanged: () => undefined,
    explain: (error) => error,
    settle: settle ?? (async (outcome) => void outcomes.push(outcome)),
  };
  const upstream = { status: 200, contentType: 'text/event-stream', headers: {}, body };
  return { outcomes, answer: relayEvents(upstream, plan) };
}

/** The body of a relayed answer that is not complete yet. */
async function streamOf({ answer }: ReturnType<typeof relay>): Promise<AsyncGenerator<Buffer>> {
  const { body } = await answer;
  if (typeof body === 'string' || Buffer.isBuffer(body)) throw new Error(`The body is complete: ${body.toString()}`);
  return body;
}

describe('relayEvents', () => {
  it.each([
    ['a shared session', SHARED, answerTo('sbx-1')],
    ['a session of its own', OWN, answerTo(7)],
  ])('relays a stream that consists of its answer as a complete body, in %s', async (_title, ids, text) => {
    const upstream = openStream(text);
    const { answer, outcomes } = relay(upstream, ids);
    expect(String((await answer).body)).toBe(answerTo(7));
    expect(outcomes).toEqual([expect.objectContaining({ status: 'success' })]);
    // The upstream has not ended its stream.
    expect(upstream.destroyed).toBe(true);
  });

  it('waits for an answer whose bytes arrive one by one', async () => {
    const upstream = openStream();
    const { answer } = relay(upstream, OWN);
    for (const char of answerTo(7)) {
      upstream.push(char);
      await new Promise(setImmediate);
    }
    expect(String((await answer).body)).toBe(answerTo(7));
  });

  it('relays an event that precedes the answer when it arrives', async () => {
    const upstream = openStream(PROGRESS);
    const stream = await streamOf(relay(upstream, OWN));
    expect(String((await stream.next()).value)).toBe(PROGRESS);
    upstream.push(answerTo(7));
    expect(String((await stream.next()).value)).toBe(answerTo(7));
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('relays the event that lets the caller resume together with an answer that follows at once', async () => {
    const { answer } = relay(openStream(PRIMING, answerTo(7)), OWN);
    expect(String((await answer).body)).toBe(PRIMING + answerTo(7));
  });

  it('relays the event that lets the caller resume before an answer that takes longer', async () => {
    const upstream = openStream(PRIMING);
    const stream = await streamOf(relay(upstream, OWN));
    expect(String((await stream.next()).value)).toBe(PRIMING);
    upstream.push(answerTo(7));
    expect(String((await stream.next()).value)).toBe(answerTo(7));
  });

  it('drops the event that lets a caller resume in a shared session, where it cannot', async () => {
    const { answer } = relay(openStream(PRIMING, answerTo('sbx-1')), SHARED);
    expect(String((await answer).body)).toBe(answerTo(7));
  });

  it('relays a stream that ends before the answer if it can be resumed', async () => {
    const upstream = openStream(PRIMING);
    upstream.push(null);
    const { answer, outcomes } = relay(upstream, OWN);
    expect(String((await answer).body)).toBe(PRIMING);
    expect(outcomes).toEqual([expect.objectContaining({ errorCode: 'upstream_cancelled' })]);
  });

  it('answers with an error if the stream ends without the answer', async () => {
    const upstream = openStream(': nothing\n\n');
    upstream.push(null);
    const { answer, outcomes } = relay(upstream, SHARED);
    expect(String((await answer).body)).toContain('"code":"upstream_protocol"');
    expect(outcomes[0]).toMatchObject({ status: 'error', errorCode: 'upstream_protocol' });
  });

  it('sends an error instead of an answer whose outcome could not be recorded', async () => {
    const refuse = async (): Promise<void> => {
      throw new DomainError('storage_unavailable', 'The database is unavailable.');
    };
    const { answer } = relay(openStream(answerTo(7)), OWN, refuse);
    const body = String((await answer).body);
    expect(body).toContain('"code":"storage_unavailable"');
    expect(body).not.toContain('"result"');
  });
});
