import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { type PermissionMap, permissionsDigest } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { type CredentialSource, VerifiesCredentials } from '../credentials/credential-source.js';
import { permissionsOfMember } from './member-rights.js';
import { MemberRepository } from './member.repository.js';

/** The id of a membership among credentials (`Principal.credentialId`). */
export function membershipCredentialId(userId: string, organizationId: string): string {
  return `${userId}:${organizationId}`;
}

/**
 * The membership of a person as a credential that nobody can present: what a signed-in browser leaves behind, such as a
 * schedule, acts for the member, and ends with the membership instead of the session.
 */
@Injectable()
@VerifiesCredentials('member')
export class MembershipSource implements CredentialSource {
  constructor(private readonly members: MemberRepository) {}

  keyOf(): undefined {
    return undefined;
  }

  /** @throws DomainError `credential_invalid` always */
  verify(): Principal {
    throw new DomainError('credential_invalid');
  }

  /**
   * What members of the caller's organization could call the service with, by user id; without those who are no
   * members.
   */
  async findPrincipals(userIds: readonly string[], caller: Principal): Promise<ReadonlyMap<string, Principal>> {
    const { organization } = caller;
    const principals = new Map<string, Principal>();
    for (const rights of await this.members.findRightsOfHolders(organization.id, userIds)) {
      const permissions = permissionsOfMember(rights);
      const shared = {
        kind: 'member' as const,
        organization,
        runAccess: rights.runAccess,
        apiKeyId: null,
        grantId: null,
        clientId: null,
        permissions,
        permissionsDigest: permissionsDigest(permissions),
      };
      for (const userId of rights.userIds) {
        const credentialId = membershipCredentialId(userId, organization.id);
        principals.set(userId, { ...shared, credentialId, callerId: credentialId, userId });
      }
    }
    return principals;
  }

  async findUsable(ids: readonly string[], manager?: EntityManager): Promise<ReadonlyMap<string, PermissionMap>> {
    const asked = ids.map((id) => {
      const [userId = '', organizationId = ''] = id.split(':');
      return { userId, organizationId };
    });
    const found = await this.members.findRights(asked, manager);
    return new Map(
      found.map((rights) => [
        membershipCredentialId(rights.userId, rights.organizationId),
        permissionsOfMember(rights),
      ]),
    );
  }
}
