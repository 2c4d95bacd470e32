import { setTimeout as sleep } from 'node:timers/promises';
import { toDomainError } from './to-domain-error.js';

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

const GIVE_UP_AFTER_MS = 30_000;

/** The storage was unavailable for longer than callers wait. The work can resume when it is available again. */
export class StorageLostError extends Error {
  override readonly name = 'StorageLostError';
}

/**
 * Retries a call to the storage while the storage is unavailable, for at most 30 s. Any other error is thrown at once.
 * The call can have taken effect even if its response was lost, so it must be idempotent.
 * @param signal ends the pause between two attempts
 * @throws StorageLostError, and the signal's reason
 */
export async function throughOutage<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await retry(call, { isRetryable: isOutage, giveUpAfterMs: GIVE_UP_AFTER_MS, ...(signal && { signal }) });
  } catch (error) {
    throw isOutage(error) ? new StorageLostError('The storage is unavailable.', { cause: error }) : error;
  }
}

function isOutage(error: unknown): boolean {
  return toDomainError(error).code === 'storage_unavailable';
}
