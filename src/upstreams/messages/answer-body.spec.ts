import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { chunksOf } from './answer-body.js';

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
