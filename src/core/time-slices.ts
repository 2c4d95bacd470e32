import type { Holder } from './sharing/shares.js';
import { TurnQueue } from './sharing/turn-queue.js';

/** How long one slice of long work can block the event loop, in milliseconds. */
const SLICE_MS = 4;

/** A slice that waits for its turn. */
interface WaitingSlice {
  readonly holder: Holder;
  readonly begin: () => void;
}

/** All slices of the process that wait. One begins in each iteration of the event loop. */
const waiting = new TurnQueue<WaitingSlice>();

/**
 * Cuts long work into slices and lets other work run between them, however many such tasks run at once. Organizations
 * take turns, so that one with many tasks delays each slice of another by one of its own.
 */
export class TimeSlices {
  private readonly holder: Holder;
  private startedAt = performance.now();

  /** @param organizationId the organization that the work is for */
  constructor(organizationId: string) {
    this.holder = [organizationId];
  }

  /** True once the work has blocked the event loop for long enough. The caller then awaits `next`. */
  get isOver(): boolean {
    return performance.now() - this.startedAt > SLICE_MS;
  }

  async next(): Promise<void> {
    const { promise, resolve: begin } = Promise.withResolvers<void>();
    if (waiting.isEmpty) setImmediate(beginNext);
    waiting.add({ holder: this.holder, begin });
    await promise;
    this.startedAt = performance.now();
  }
}

function beginNext(): void {
  waiting.next()?.begin();
  // What is scheduled here runs in the next iteration.
  if (!waiting.isEmpty) setImmediate(beginNext);
}
