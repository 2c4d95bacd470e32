import { setTimeout as sleep } from 'node:timers/promises';
import { EventStoreClosedError, StaleWriterError } from './run-event-errors.js';

const FIRST_DELAY_MS = 25;
const LONGEST_DELAY_MS = 2_000;

/** The pause before attempt `attempt` + 1 (from 1): doubling from 25 ms to 2 s, half of it random. */
export function backoffMs(attempt: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return full / 2 + Math.random() * (full / 2);
}

export interface RetryOptions {
  /** Give up with the last error once this much time has passed; never unless told. */
  readonly giveUpAfterMs?: number;
  /** Aborting ends the pause between two attempts with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Repeats a call of the event store with growing pauses until it succeeds, time is up, or repeating cannot mend it. */
export async function retry<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const giveUpAt = performance.now() + (options.giveUpAfterMs ?? Infinity);
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (
        error instanceof StaleWriterError ||
        error instanceof EventStoreClosedError ||
        performance.now() >= giveUpAt
      ) {
        throw error;
      }
    }
    await sleep(backoffMs(attempt), undefined, { signal: options.signal }).catch(() =>
      options.signal?.throwIfAborted(),
    );
  }
}
