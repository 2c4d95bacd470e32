import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AnswerBudget, STALLED_MS } from '../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { EventStream } from './sse-parts.js';

const MEMORY = 4 * 1024 * 1024;
const HOLDER = { organization: { id: 'acme' }, callerId: 'key' };
/** What every stream can leave unread. */
const FEW_BYTES = 64 * 1024;
const LINE = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'x'.repeat(10_000) }));

describe('what the reader of a stream has not taken', () => {
  let budget: AnswerBudget;
  let stream: EventStream;

  beforeEach(() => {
    budget = new AnswerBudget(MEMORY);
    const rooms = new AnswerRooms(budget);
    stream = new EventStream(() => rooms.open(HOLDER));
    stream.on('error', () => undefined);
  });

  afterEach(() => {
    jest.useRealTimers();
    stream.destroy();
  });

  function sendUntil(isEnough: () => boolean): void {
    while (!isEnough()) stream.send(LINE);
  }

  it('has room once it is much, until it is taken', async () => {
    sendUntil(() => stream.readableLength + LINE.length > FEW_BYTES - 100);
    expect(budget.heldBytes).toBe(0);
    sendUntil(() => stream.readableLength > 300_000);
    expect(budget.heldBytes).toBe(stream.readableLength);
    stream.read(250_000);
    expect(budget.heldBytes).toBe(0);
    sendUntil(() => stream.readableLength > 300_000);
    expect(budget.heldBytes).toBe(stream.readableLength);
    expect((stream.read() as Buffer).length).toBe(FEW_BYTES);
    expect(budget.heldBytes).toBeGreaterThan(stream.readableLength);
    stream.destroy();
    await once(stream, 'close');
    expect(budget.heldBytes).toBe(0);
  });

  it('ends the stream if there is no room', async () => {
    const failed = once(stream, 'error');
    sendUntil(() => stream.destroyed);
    expect((await failed)[0]).toMatchObject({ name: 'UpstreamError', kind: 'busy' });
    expect(budget.heldBytes).toBe(0);
  });

  it('ends the stream if the reader takes nothing any more', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const failed = once(stream, 'error');
    sendUntil(() => stream.readableLength > 300_000);
    jest.advanceTimersByTime(STALLED_MS - 1);
    stream.read(10_000);
    jest.advanceTimersByTime(STALLED_MS - 1);
    expect(stream.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect((await failed)[0]).toMatchObject({ kind: 'cancelled' });
    expect(budget.heldBytes).toBe(0);
  });
});
