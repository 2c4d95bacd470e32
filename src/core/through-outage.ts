import { retry } from './retry.js';
import { toDomainError } from './to-domain-error.js';

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
