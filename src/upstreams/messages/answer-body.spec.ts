import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { plainAnswer } from '../stdio/stdio-exchange.js';
import { chunksForService, chunksOf } from './answer-body.js';
import { messageEvent, messagesIn } from './sse-parts.js';

const ANSWERS = 24;
const CHUNKS = 64;
const CHUNK_MS = 0.1;
/** The 4 ms of a turn, and one chunk of each answer. */
const MOST_CHUNKS_PER_TURN = 100;

it('large answers let other events of the process come between their chunks, and lose none', async () => {
  const chunk = Buffer.alloc(64 * 1024);
  let read = 0;
  const state = { isOver: false };
  const answers = Array.from({ length: ANSWERS }, async () => {
    const body = Readable.from(Array.from({ length: CHUNKS }, () => chunk));
    for await (const bytes of chunksOf(body)) {
      for (const begun = performance.now(); performance.now() - begun < CHUNK_MS;);
      if (bytes.equals(chunk)) read++;
    }
  });
  void Promise.all(answers).then(() => (state.isOver = true));
  const perTurn: number[] = [];
  while (!state.isOver) {
    const before = read;
    await nextTurn();
    perTurn.push(read - before);
  }
  expect(read).toBe(ANSWERS * CHUNKS);
  // Without turns, all of them are read in one.
  expect(perTurn.filter((count) => count > MOST_CHUNKS_PER_TURN).length).toBe(0);
});

const room = new AnswerRooms(new AnswerBudget()).open(undefined);

it.each([
  ['answers', chunksForService],
  [
    'messages',
    (body: Readable, organizationId: string) =>
      messagesIn({ ...plainAnswer(200), contentType: 'text/event-stream', body }, organizationId, room),
  ],
])('organizations take turns when the service reads large %s for them', async (_what, piecesOf) => {
  const chunk = messageEvent(`"${'x'.repeat(64 * 1024)}"`);
  const order: string[] = [];
  const read = async (organizationId: string): Promise<void> => {
    const body = Readable.from(Array.from({ length: CHUNKS }, () => chunk));
    for await (const _ of piecesOf(body, organizationId)) {
      for (const begun = performance.now(); performance.now() - begun < CHUNK_MS;);
      order.push(organizationId);
    }
  };
  const busy = Array.from({ length: ANSWERS }, () => read('busy'));
  await Promise.all([...busy, read('other')]);
  // In one line for all, every answer would have been read at the same pace, and the other one to the end.
  expect(order.lastIndexOf('other')).toBeLessThan(order.length / 2);
});
