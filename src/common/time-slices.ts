import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a piece of long work may hold the event loop, in milliseconds. */
const SLICE_MS = 4;

/** The pieces of work of the whole process that wait for their turn: one runs in each turn of the event loop. */
let turns: Promise<void> = Promise.resolve();

/** Cuts long work into slices, between which everybody else gets on, however much of such work there is at once. */
export class TimeSlices {
  private startedAt = performance.now();

  /** Has the work held the event loop for long enough? Then `next` is to be awaited. */
  get isOver(): boolean {
    return performance.now() - this.startedAt > SLICE_MS;
  }

  async next(): Promise<void> {
    const before = turns;
    const { promise, resolve } = Promise.withResolvers<void>();
    turns = promise;
    try {
      await before;
      await nextTurn();
    } finally {
      resolve();
      this.startedAt = performance.now();
    }
  }
}
