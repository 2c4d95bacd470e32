import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long one slice of long work can block the event loop, in milliseconds. */
const SLICE_MS = 4;

/** All slices of the process that wait for their turn: one runs in each iteration of the event loop. */
let turns: Promise<void> = Promise.resolve();

/** Cuts long work into slices and lets other work run between them, however many such tasks run at once. */
export class TimeSlices {
  private startedAt = performance.now();

  /** True once the work has blocked the event loop for long enough. The caller then awaits `next`. */
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
