import { Injectable } from '@nestjs/common';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { PasswordChanges } from '../users/password-changes.js';
import type { OauthGrantItem } from './oauth.dto.js';
import { type NamedGrant, OauthGrantsRepository } from './oauth-grants.repository.js';

/** Lists and revokes the sign-ins of people with OAuth clients. */
@Injectable()
export class OauthGrants {
  constructor(
    private readonly repository: OauthGrantsRepository,
    private readonly events: AuditEvents,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.register((manager, userId) => this.repository.deleteOfPerson(manager, userId));
  }

  /** All grants of the organization, or only the caller's own if it lacks the permission. */
  async list(caller: Principal): Promise<{ items: OauthGrantItem[] }> {
    const ownOnly = allows(caller.permissions, SELF, 'OAUTH_GRANT_LIST') ? undefined : ownerOf(caller);
    const grants = await this.repository.findOfOrganization(caller.organization.id, ownOnly);
    return { items: grants.map(toItem) };
  }

  /** @throws DomainError `not_found` */
  async revoke(id: string, caller: Principal): Promise<void> {
    const ownOnly = allows(caller.permissions, SELF, 'OAUTH_GRANT_REVOKE') ? undefined : ownerOf(caller);
    const revoked = await this.repository.revoke(caller.organization.id, id, ownOnly);
    if (revoked === undefined) throw new DomainError('not_found', 'The organization has no OAuth grant with this id.');
    await this.events.record(caller.organization.id, {
      event: 'grant.revoked',
      actor: caller,
      target: { type: 'grant', id, name: revoked.clientName },
    });
  }
}

/** @throws DomainError `permission_denied` for a key of the organization, which has no grants of its own */
function ownerOf({ userId }: Principal): string {
  if (userId === null) throw new DomainError('permission_denied', 'The credential acts for no person.');
  return userId;
}

function toItem(grant: NamedGrant): OauthGrantItem {
  return {
    id: grant.id,
    user_id: grant.userId,
    user_email: grant.userEmail,
    client_id: grant.clientId,
    client_name: grant.clientName,
    resource: grant.resource,
    scope: grant.scope,
    last_used_at: grant.lastUsedAt?.toISOString() ?? null,
    created_at: grant.createdAt.toISOString(),
  };
}
