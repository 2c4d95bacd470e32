import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Holder } from './sharing/shares.js';
import { takeTurn, WorkTurns } from './work-turns.js';

const RUNS = 40;
const CHUNKS = 64;
const CHUNK_MS = 0.1;
/** 16 chunks of a run after the 4 ms of a turn, and what was open from before. */
const MOST_CHUNKS_PER_TURN = 100;
const BURST = 400;
/** After as many chunks, a run lets others go on. */
const CHUNKS_PER_STEP = 16;
const SHORT_CHUNK_MS = 0.02;
const LONG_TURN_MS = 10;
const MANY: Holder = ['a', 'many'];

/** A run whose model always has another chunk. */
async function run(holder: Holder, count: number, onChunk: () => void, chunkMs = CHUNK_MS): Promise<void> {
  const turns = new WorkTurns(holder, CHUNKS_PER_STEP);
  for (let n = 0; n < count; n++) {
    spend(chunkMs);
    onChunk();
    await turns.next();
  }
}

describe('WorkTurns', () => {
  it('lets other events of the process come between the chunks of many runs, and loses none', async () => {
    let handled = 0;
    const state = { isOver: false };
    const all = Promise.all(Array.from({ length: RUNS }, () => run(MANY, CHUNKS, () => handled++)));
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

  it.each([
    ['another organization', ['b', 'many']],
    ['another line of the organization', ['a', 'few']],
  ])('serves %s before the many of one', async (_who, other) => {
    let ofMany = 0;
    const many = Promise.all(Array.from({ length: RUNS }, () => run(MANY, CHUNKS, () => ofMany++)));
    await nextTurn();
    const before = ofMany;
    await run(other, CHUNKS, () => undefined);
    expect(ofMany - before).toBeLessThan((RUNS * CHUNKS) / 2);
    await many;
  });

  it('serves several runs in each turn, however long other events make it', async () => {
    const state = { isOver: false, turns: 0 };
    const runs = Array.from({ length: RUNS }, () => run(MANY, CHUNKS, () => undefined, SHORT_CHUNK_MS));
    const all = Promise.all(runs).then(() => (state.isOver = true));
    for (; !state.isOver; state.turns++) {
      await nextTurn();
      spend(LONG_TURN_MS);
    }
    await all;
    expect(state.turns).toBeLessThan((RUNS * CHUNKS) / CHUNKS_PER_STEP / 2);
  });

  it('lets one of another organization begin before most of a burst', async () => {
    let begun = 0;
    const begin = async (holder: Holder): Promise<void> => {
      await nextTurn();
      await takeTurn(holder);
      spend(CHUNK_MS);
      begun++;
    };
    const burst = Array.from({ length: BURST }, () => begin(MANY));
    await begin(['b', 'one']);
    expect(begun).toBeLessThan(BURST / 2);
    await Promise.all(burst);
    expect(begun).toBe(BURST + 1);
  });
});

function spend(ms: number): void {
  for (const begun = performance.now(); performance.now() - begun < ms;);
}
