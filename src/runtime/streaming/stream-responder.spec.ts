import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import { ReaderGoneError, SseResponse } from './stream-responder.js';

const HOLDER = { organization: { id: 'o', slug: 'o' }, callerId: 'k' };

/** The server's end of a response whose reader takes nothing until `drain`. */
class StuckResponse extends EventEmitter {
  destroyed = false;
  writableNeedDrain = false;
  readonly written: string[] = [];

  writeHead(): void {}
  flushHeaders(): void {}

  write(text: string): boolean {
    this.written.push(text);
    this.writableNeedDrain = true;
    return false;
  }

  drain(): void {
    this.writableNeedDrain = false;
    this.emit('drain');
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('SseResponse', () => {
  let raw: StuckResponse;
  let response: SseResponse;
  let budget: AnswerBudget;

  beforeEach(() => {
    jest.useFakeTimers();
    raw = new StuckResponse();
    budget = new AnswerBudget(1_000);
    const reply = { raw, hijack: () => undefined, getHeaders: () => ({}) } as unknown as FastifyReply;
    response = SseResponse.open(reply, () => budget.openAnswer(HOLDER));
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('waits until the reader has read the last write', async () => {
    const writing = response.write('one');
    raw.drain();
    await writing;
    expect(raw.written).toEqual(['one']);
    expect(jest.getTimerCount()).toBe(0);
    expect(raw.eventNames()).toEqual([]);
  });

  it('disconnects a reader that reads nothing for half a minute', async () => {
    const refused = expect(response.write('one')).rejects.toThrow(ReaderGoneError);
    jest.advanceTimersByTime(29_999);
    expect(raw.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect(raw.destroyed).toBe(true);
    await refused;
  });

  it('stops waiting the moment that the reader leaves', async () => {
    const refused = expect(response.write('one')).rejects.toThrow(ReaderGoneError);
    raw.destroy();
    await refused;
    expect(jest.getTimerCount()).toBe(0);
    await expect(response.write('two')).rejects.toThrow(ReaderGoneError);
    expect(raw.written).toEqual(['one']);
  });

  it('holds memory for unread frames until they are read', async () => {
    const writing = response.write('one');
    expect(budget.heldBytes).toBe(9);
    raw.drain();
    await writing;
    expect(budget.heldBytes).toBe(0);
  });

  it('disconnects a reader that does not keep up when there is no memory to wait for it', async () => {
    const other = budget.openAnswer(HOLDER);
    for (const bytes of [200, 175]) other.reserve(bytes);
    await expect(response.write('one')).rejects.toThrow(ReaderGoneError);
    expect(raw.destroyed).toBe(true);
    other.release();
    expect(budget.heldBytes).toBe(0);
  });

  it('sends no keep-alive while frames are unread', async () => {
    const writing = response.write('one');
    response.keepAlive();
    raw.drain();
    await writing;
    response.keepAlive();
    expect(raw.written).toEqual(['one', ': keep-alive\n\n']);
  });
});
