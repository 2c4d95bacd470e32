import { databaseNow } from '../../core/database-time.js';
import { DomainError } from '../../core/domain-error.js';
import { isWithin, type PermissionMap } from '../../core/permissions.js';
import { isLifted, type KeyRateLimit, type SpendLimit } from '../../core/limits.js';
import type { Principal } from '../../core/principal.js';
import type { ApiKeyEntity } from './api-key.entity.js';
import type { LockedMaker } from './api-key.repository.js';

/** The rights of a caller who changes keys: those when it was verified, and those of this moment. */
export class KeyMaker {
  private readonly now: LockedMaker;

  /**
   * @param maker the caller's locked rights, which may have changed since it was verified
   * @throws DomainError `credential_invalid`, `credential_expired`
   */
  constructor(
    private readonly caller: Principal,
    maker: LockedMaker | undefined,
  ) {
    if (maker === undefined) throw new DomainError('credential_invalid', 'The credential has been revoked.');
    if (hasExpired(maker.expiresAt)) throw new DomainError('credential_expired');
    this.now = maker;
  }

  /** @throws DomainError `permission_widening` */
  assertHolds(permissions: PermissionMap): void {
    if (this.holds(permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot grant permissions that it does not hold.');
  }

  /**
   * Refuses connections to a key that opens only one resource, because it could never call them. An agent can be run
   * through the API.
   * @param resource of the key
   * @param connectionIds that the permissions name
   * @throws DomainError `permission_widening`
   */
  static assertOpens(resource: string | null, connectionIds: readonly string[]): void {
    const [id] = connectionIds;
    if (resource === null || id === undefined) return;
    const message =
      `A key that is made with a token for ${resource} opens nothing else, so it could never call the connection ` +
      `${id}. Make the key with an API key of the organization, or in the console.`;
    throw new DomainError('permission_widening', message, [
      { path: `permissions.${id}`, code: 'permission_widening', message },
    ]);
  }

  /** @throws DomainError `permission_widening` if `expiresAt` is after the maker's expiry; null means no expiry */
  assertOutlives(expiresAt: Date | null): void {
    const end = this.now.expiresAt;
    if (end === null || !outlives(expiresAt, end)) return;
    const seconds = Math.floor((end.getTime() - databaseNow()) / 1000);
    const message =
      `The calling key expires at ${end.toISOString()} and cannot grant permissions beyond that time. ` +
      (seconds < 1 ? 'It is about to expire.' : `For a new key, set expiresIn to at most ${seconds}.`);
    throw new DomainError('permission_widening', message);
  }

  /** @throws DomainError `permission_widening` for less limit than the maker's own */
  assertLimits(rateLimit: KeyRateLimit | null): void {
    if (!isLifted(rateLimit, this.now.rateLimit)) return;
    const message = `The calling key is limited to ${this.now.rateLimit?.per_minute} requests per minute and cannot grant more.`;
    throw new DomainError('permission_widening', message, [
      { path: 'rate_limit.per_minute', code: 'permission_widening', message },
    ]);
  }

  /**
   * A key that a spending limit applies to could otherwise lift it.
   * @throws DomainError `permission_widening`
   */
  assertCanSpend(changed: SpendLimit | null, stored: SpendLimit | null): void {
    if (!this.now.hasSpendLimit || !isLifted(changed, stored)) return;
    throw new DomainError('permission_widening', 'A key with a spending limit cannot lift one.');
  }

  /**
   * Rejects changes to a key with more permissions than the caller's. A key can always edit and delete itself.
   * @throws DomainError `permission_widening`
   */
  assertCanChange(stored: ApiKeyEntity): void {
    if (stored.id === this.caller.apiKeyId || this.holds(stored.permissions)) return;
    throw new DomainError(
      'permission_widening',
      `The key "${stored.name}" holds permissions that the caller does not hold.`,
    );
  }

  private holds(permissions: PermissionMap): boolean {
    return isWithin(permissions, this.caller.permissions) && isWithin(permissions, this.now.permissions);
  }
}

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
