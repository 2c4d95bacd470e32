import { retry } from './retry.js';
import { toDomainError } from './to-domain-error.js';

const GIVE_UP_AFTER_MS = 30_000;

/** The storage was away for longer than anybody waits. The work can be taken up again when it is back. */
export class StorageLostError extends Error {
  override readonly name = 'StorageLostError';
}

/**
 * Repeats a call on the storage while the storage is away, for 30 s at most. Any other error is passed on at once. The
 * call may have taken effect though its answer was lost, so it must bear repeating.
 * @throws StorageLostError
 */
export async function throughOutage<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await retry(call, { isRetryable: isOutage, giveUpAfterMs: GIVE_UP_AFTER_MS });
  } catch (error) {
    throw isOutage(error) ? new StorageLostError('The storage is away.', { cause: error }) : error;
  }
}

function isOutage(error: unknown): boolean {
  return toDomainError(error).code === 'storage_unavailable';
}
