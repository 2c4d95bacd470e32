import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_DELAY_MS = 25;
const LONGEST_DELAY_MS = 2_000;

/** The pause before attempt `attempt` + 1 (from 1), in milliseconds: doubling from 25 ms to 2 s, half of it random. */
export function backoffMs(attempt: number): number {
  const full = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return full / 2 + Math.random() * (full / 2);
}

interface RetryOptions {
  /** True if a retry can succeed after this error. Any other error is thrown at once. */
  readonly isRetryable: (error: unknown) => boolean;
  /** The last error is thrown once this much time has passed; without it, retries are unlimited. */
  readonly giveUpAfterMs?: number;
  /** Aborting ends the pause between two attempts with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Retries a call with growing pauses until it succeeds, time is up, or the error is not retryable. */
export async function retry<T>(
  call: () => Promise<T>,
  { isRetryable, giveUpAfterMs = Infinity, signal }: RetryOptions,
): Promise<T> {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isRetryable(error) || performance.now() >= giveUpAt) throw error;
    }
    await sleep(backoffMs(attempt), undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}
