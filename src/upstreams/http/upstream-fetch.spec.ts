import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import { AnswerRooms, type OwnRoom } from '../../core/answers/answer-room.js';
import type { HttpTarget } from '../contract/upstream-target.js';
import { GATHERED_BYTES, memoryFor } from '../messages/answer-body.js';
import type { HttpAnswer } from '../sockets/http-answer.js';
import type { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { type AnswerObserver, createUpstreamFetch } from './upstream-fetch.js';

const URL = 'http://upstream.example/mcp';
const TARGET = { url: URL, headers: {} } as unknown as HttpTarget;
const CALLS = 64;
/** More than is buffered of every answer. */
const LARGE = Buffer.alloc(GATHERED_BYTES + 1, ' ');
/** The memory of one answer. */
const PLACE = memoryFor(LARGE.length) ?? 0;
const MEMORY = 16 * PLACE;
/** A caller's part of its organization's half. */
const SHARE = (MEMORY / 2) * 0.75;

interface Reading {
  readonly room: OwnRoom;
  /** The rest of the answer. */
  readonly body: PassThrough;
  readonly text: Promise<string>;
}

/** Calls whose upstream sends large answers, and does not end them. */
class Calls {
  readonly budget = new AnswerBudget(MEMORY);
  private readonly rooms = new AnswerRooms(this.budget);

  async begin(organization: string, beginning = LARGE, contentType = 'application/json'): Promise<Reading> {
    const room = this.rooms.open({ organization: { id: organization }, callerId: 'key' });
    const body = new PassThrough();
    const sockets = {
      exchange: async (): Promise<HttpAnswer> => ({ status: 200, headers: { 'content-type': contentType }, body }),
    } as unknown as UpstreamSockets;
    const observer: AnswerObserver = { streaming: false, room };
    const response = await createUpstreamFetch(TARGET, sockets, () => observer)(URL, { method: 'POST', body: '{}' });
    const text = response.text();
    text.catch(() => undefined);
    body.write(beginning);
    return { room, body, text };
  }
}

/** Resolves when everything has been done that waits for nothing outside of this process. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('answers that are read whole', () => {
  it('hold no more than the share of their caller, and leave some to others', async () => {
    const calls = new Calls();
    const readings = await Promise.all(Array.from({ length: CALLS }, () => calls.begin('acme')));
    await settled();
    expect(calls.budget.heldBytes).toBe(SHARE);
    const neighbour = await calls.begin('other');
    neighbour.body.end('end');
    expect(await neighbour.text).toHaveLength(LARGE.length + 3);
    neighbour.room.leave();
    expect(calls.budget.heldBytes).toBe(SHARE);
    for (const { room, body } of readings) {
      room.leave();
      body.destroy();
    }
    await settled();
    expect(calls.budget.heldBytes).toBe(0);
  });

  it('are read in turn, as earlier ones give their room back', async () => {
    const calls = new Calls();
    const readings = await Promise.all(Array.from({ length: CALLS }, () => calls.begin('acme')));
    for (const { body } of readings) body.end('end');
    for (const { text, room } of readings) {
      expect(await text).toHaveLength(LARGE.length + 3);
      expect(calls.budget.heldBytes).toBeLessThanOrEqual(SHARE);
      room.leave();
    }
    expect(calls.budget.heldBytes).toBe(0);
  });

  it('take no room for many small events', async () => {
    const calls = new Calls();
    const event = `data: ${'x'.repeat(GATHERED_BYTES / 2)}\n\n`;
    const { body, text } = await calls.begin('acme', Buffer.from(event.repeat(8)), 'text/event-stream');
    body.end(event);
    expect(await text).toHaveLength(9 * event.length);
    expect(calls.budget.heldBytes).toBe(0);
  });

  it('end the lines of an event stream with LF, which parsers find fast', async () => {
    const { body, text } = await new Calls().begin('acme', Buffer.from('data: a\r'), 'text/event-stream');
    body.end('\ndata: b\r\r');
    expect(await text).toBe('data: a\ndata: b\n\n');
  });

  it('keep the bytes of other documents', async () => {
    const { body, text } = await new Calls().begin('acme', Buffer.from('{\r'));
    body.end('\n}\r');
    expect(await text).toBe('{\r\n}\r');
  });
});
