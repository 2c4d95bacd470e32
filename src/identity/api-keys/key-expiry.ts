import { databaseNow } from '../../core/database-time.js';

/** When a key expires that has so many seconds left; null for a key that does not expire. */
export function expiryIn(seconds: number | null): Date | null {
  return seconds === null ? null : new Date(databaseNow() + seconds * 1000);
}

/** Whether a key with this expiry is over. */
export function hasExpired(expiresAt: Date | null): boolean {
  return expiresAt !== null && expiresAt.getTime() <= databaseNow();
}

/** Whether a key with the first expiry outlives one with the second. */
export function outlives(expiresAt: Date | null, other: Date | null): boolean {
  return other !== null && (expiresAt === null || expiresAt.getTime() > other.getTime());
}
