import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { intersectionOf, type PermissionMap, permissionsDigest } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { changeOrganization } from '../../platform/database/organization-locks.js';
import { CredentialSources } from '../credentials/credential-source.js';
import { Authority, EVERYTHING, isBuiltIn, type MemberRights, permissionsOfMember } from './member-rights.js';
import { MemberEntity } from './member.entity.js';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';

/** A locked organization: its members, roles and settings do not change until the transaction ends. */
export interface LockedOrganization {
  readonly manager: EntityManager;
  readonly organization: OrganizationEntity;
}

/** Serializes changes of an organization's members and roles, so that each rule sees what the others have decided. */
@Injectable()
export class OrganizationLock {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly credentials: CredentialSources,
  ) {}

  /** @throws DomainError `not_found` */
  async with<T>(organizationId: string, work: (locked: LockedOrganization) => Promise<T>): Promise<T> {
    return changeOrganization(this.dataSource.manager, organizationId, async (manager) => {
      const organization = await manager.findOne(OrganizationEntity, {
        where: { id: organizationId },
        lock: { mode: 'for_no_key_update' },
      });
      if (organization === null) throw new DomainError('not_found', 'The organization does not exist.');
      return work({ manager, organization });
    });
  }

  /**
   * The same for a caller, whose rights may have changed since it was verified. Until the transaction ends, its key and
   * its grant can neither end nor change either.
   * @throws DomainError `credential_invalid`
   */
  async withAuthority<T>(
    caller: Principal,
    work: (locked: LockedOrganization & { readonly authority: Authority }) => Promise<T>,
  ): Promise<T> {
    return this.with(caller.organization.id, async (locked) => {
      await this.requireUsable(locked, caller);
      const { userId } = caller;
      const rights = userId === null ? undefined : await rightsOfMember(locked, userId);
      if (userId !== null && rights === undefined) throw revoked();
      const ofPerson: PermissionMap = rights === undefined ? EVERYTHING : permissionsOfMember(rights);
      const permissions = intersectionOf(caller.permissions, ofPerson);
      return work({ ...locked, authority: new Authority({ userId, role: rights?.role ?? null, permissions }) });
    });
  }

  /** Locks the grant before the key, as those do who revoke it. */
  private async requireUsable({ manager }: LockedOrganization, caller: Principal): Promise<void> {
    const { kind, credentialId, grantId, apiKeyId } = caller;
    await manager.query('SELECT FROM oauth_grants WHERE id = $1 FOR SHARE', [grantId]);
    await manager.query('SELECT FROM api_keys WHERE id = $1 FOR SHARE', [apiKeyId]);
    const usable = await this.credentials.sourceOf(kind)?.findUsable([credentialId], manager);
    const held = usable?.get(credentialId);
    if (held === undefined || permissionsDigest(held) !== caller.permissionsDigest) throw revoked();
  }
}

function revoked(): DomainError {
  return new DomainError('credential_invalid', 'The credential has been revoked, or its permissions have changed.');
}

async function rightsOfMember(
  { manager, organization }: LockedOrganization,
  userId: string,
): Promise<MemberRights | undefined> {
  const member = await manager.findOneBy(MemberEntity, { organizationId: organization.id, userId });
  return member === null ? undefined : rightsOfRole({ manager, organization }, member.role);
}

/** What a person with the role holds in the organization; undefined if there is no such role. */
export async function rightsOfRole(
  { manager, organization }: LockedOrganization,
  role: string,
): Promise<MemberRights | undefined> {
  const { memberPermissions, id: organizationId } = organization;
  if (isBuiltIn(role)) return { role, rolePermissions: null, memberPermissions };
  const custom = await manager.findOneBy(RoleEntity, { organizationId, name: role });
  return custom === null ? undefined : { role, rolePermissions: custom.permissions, memberPermissions };
}
