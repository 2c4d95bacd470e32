import { DomainError } from '../common/domain-error.js';
import { isWithin, type PermissionMap } from '../common/permissions.js';
import type { Principal } from '../common/principal.js';
import type { ApiKeyEntity } from './api-key.entity.js';

/** What somebody who changes keys holds: the verified permissions, and the key as it is now. */
export class KeyMaker {
  private readonly key: ApiKeyEntity;

  /**
   * @param key as it is while it is locked; it may have changed since the caller was verified
   * @throws DomainError `credential_invalid`, `credential_expired`
   */
  constructor(
    private readonly caller: Principal,
    key: ApiKeyEntity | undefined,
  ) {
    if (key === undefined) throw new DomainError('credential_invalid', 'The presented credential was deleted.');
    if (key.expiresAt !== null && key.expiresAt.getTime() <= Date.now()) throw new DomainError('credential_expired');
    this.key = key;
  }

  /** @throws DomainError `permission_widening` */
  requireHolding(permissions: PermissionMap): void {
    if (this.holds(permissions)) return;
    throw new DomainError('permission_widening', 'A key cannot be given permissions that its maker does not hold.');
  }

  /** @throws DomainError `permission_widening` for a time after the maker's own end; null is never */
  requireOutliving(expiresAt: Date | null): void {
    const end = this.key.expiresAt;
    if (end === null || (expiresAt !== null && expiresAt.getTime() <= end.getTime())) return;
    const seconds = Math.floor((end.getTime() - Date.now()) / 1000);
    const message =
      `The presented key expires at ${end.toISOString()}, and can grant nothing beyond that. ` +
      (seconds < 1 ? 'It is about to expire.' : `For a new key set expiresIn to at most ${seconds}.`);
    throw new DomainError('permission_widening', message);
  }

  /**
   * A key that holds more may belong to somebody with more to say. Everybody may edit and delete their own.
   * @throws DomainError `permission_widening`
   */
  requireGoverning(stored: ApiKeyEntity): void {
    if (stored.id === this.key.id || this.holds(stored.permissions)) return;
    throw new DomainError('permission_widening', 'The key holds permissions that the presented key does not hold.');
  }

  private holds(permissions: PermissionMap): boolean {
    return isWithin(permissions, this.caller.permissions) && isWithin(permissions, this.key.permissions);
  }
}
