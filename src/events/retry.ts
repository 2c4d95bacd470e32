import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../common/backoff.js';
import { EventStoreClosedError, StaleWriterError } from './run-event-errors.js';

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
