import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ChunkTurns } from './chunk-turns.js';

const RUNS = 40;
const CHUNKS = 64;
const CHUNK_MS = 0.1;
/** 16 chunks of a run after the 4 ms of a turn, and what was open from before. */
const MOST_CHUNKS_PER_TURN = 100;

/** A run whose model always has another chunk. */
async function run(organizationId: string, count: number, onChunk: () => void): Promise<void> {
  const turns = new ChunkTurns(organizationId);
  for (let n = 0; n < count; n++) {
    for (const begun = performance.now(); performance.now() - begun < CHUNK_MS;);
    onChunk();
    await turns.next();
  }
}

describe('ChunkTurns', () => {
  it('lets other events of the process come between the chunks of many runs, and loses none', async () => {
    let handled = 0;
    const state = { isOver: false };
    const all = Promise.all(Array.from({ length: RUNS }, () => run('a', CHUNKS, () => handled++)));
    void all.then(() => (state.isOver = true));
    // The first chunks of each run are free.
    await nextTurn();
    const perTurn: number[] = [];
    while (!state.isOver) {
      const before = handled;
      await nextTurn();
      perTurn.push(handled - before);
    }
    expect(handled).toBe(RUNS * CHUNKS);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(MOST_CHUNKS_PER_TURN);
  });

  it('serves another organization before the many runs of one', async () => {
    let ofMany = 0;
    const many = Promise.all(Array.from({ length: RUNS }, () => run('a', CHUNKS, () => ofMany++)));
    await nextTurn();
    const before = ofMany;
    await run('b', CHUNKS, () => undefined);
    expect(ofMany - before).toBeLessThan((RUNS * CHUNKS) / 2);
    await many;
  });
});
