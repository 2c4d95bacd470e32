import { DomainError } from '../common/domain-error.js';
import { isWithin, type PermissionMap } from '../common/permissions.js';
import type { Principal } from '../common/principal.js';
import type { ApiKeyEntity } from './api-key.entity.js';

/** The rights of a caller who changes keys: its verified permissions and its current key. */
export class KeyMaker {
  private readonly key: ApiKeyEntity;

  /**
   * @param key the locked key, which may have changed since the caller was verified
   * @throws DomainError `credential_invalid`, `credential_expired`
   */
  constructor(
    private readonly caller: Principal,
    key: ApiKeyEntity | undefined,
  ) {
    if (key === undefined) throw new DomainError('credential_invalid', 'The credential has been deleted.');
    if (key.expiresAt !== null && key.expiresAt.getTime() <= Date.now()) throw new DomainError('credential_expired');
    this.key = key;
  }

  /** @throws DomainError `permission_widening` */
  assertHolds(permissions: PermissionMap): void {
    if (this.holds(permissions)) return;
    throw new DomainError('permission_widening', 'The calling key cannot grant permissions that it does not hold.');
  }

  /** @throws DomainError `permission_widening` if `expiresAt` is after the maker's expiry; null means no expiry */
  assertOutlives(expiresAt: Date | null): void {
    const end = this.key.expiresAt;
    if (end === null || (expiresAt !== null && expiresAt.getTime() <= end.getTime())) return;
    const seconds = Math.floor((end.getTime() - Date.now()) / 1000);
    const message =
      `The calling key expires at ${end.toISOString()} and cannot grant permissions beyond that time. ` +
      (seconds < 1 ? 'It is about to expire.' : `For a new key, set expiresIn to at most ${seconds}.`);
    throw new DomainError('permission_widening', message);
  }

  /**
   * Rejects changes to a key with more permissions than the caller's. A key can always edit and delete itself.
   * @throws DomainError `permission_widening`
   */
  assertCanChange(stored: ApiKeyEntity): void {
    if (stored.id === this.key.id || this.holds(stored.permissions)) return;
    throw new DomainError('permission_widening', 'The key holds permissions that the calling key does not hold.');
  }

  private holds(permissions: PermissionMap): boolean {
    return isWithin(permissions, this.caller.permissions) && isWithin(permissions, this.key.permissions);
  }
}
