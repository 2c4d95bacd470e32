import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { changesBetween } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { isWithin } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { requireRoom } from '../../platform/database/organization-locks.js';
import { endLinksOfMembers } from './links.js';
import { MemberRepository } from './member.repository.js';
import { ADMIN, EVERYTHING, isBuiltIn, MEMBER, OWNER } from './member-rights.js';
import { RoleEntity } from './organization.entity.js';
import { OrganizationLock } from './organization-lock.js';
import { OrganizationsRepository } from './organizations.repository.js';
import type { RoleInput, RoleItem } from './role.dto.js';

const MAX_ROLES = { max: 200, what: 'roles' };

const BUILT_IN: readonly RoleItem[] = [
  { name: OWNER, permissions: EVERYTHING, built_in: true },
  { name: ADMIN, permissions: EVERYTHING, built_in: true },
  { name: MEMBER, permissions: {}, built_in: true },
];

/** The custom roles of an organization: permission maps with a name. */
@Injectable()
export class RoleService {
  constructor(
    private readonly lock: OrganizationLock,
    private readonly repository: OrganizationsRepository,
    private readonly members: MemberRepository,
    private readonly events: AuditEvents,
  ) {}

  async list(caller: Principal): Promise<RoleItem[]> {
    return [...BUILT_IN, ...(await this.repository.findRoles(caller.organization.id)).map(toItem)];
  }

  /** @throws DomainError `permission_widening`, `conflict` if the name is in use, `limit_reached` */
  create({ name, permissions }: RoleInput, caller: Principal): Promise<RoleItem> {
    return this.lock.withAuthority(caller, async ({ authority, manager, organization }) => {
      authority.assertHolds(permissions);
      const { id: organizationId } = organization;
      const isTaken = isReserved(name) || (await manager.existsBy(RoleEntity, { organizationId, name }));
      if (isTaken) throw new DomainError('conflict', 'The organization has a role with this name.');
      await requireRoom(manager, RoleEntity, organizationId, MAX_ROLES);
      const id = newId();
      await manager.insert(RoleEntity, { id, organizationId, name, permissions });
      const target = { type: 'role', id, name } as const;
      const changes = changesBetween(undefined, { permissions });
      await this.events.record(organizationId, { event: 'role.created', actor: caller, target, changes }, manager);
      return { name, permissions, built_in: false };
    });
  }

  /**
   * Replaces the permissions of everyone with the role.
   * @throws DomainError `not_found`, `permission_widening`, `conflict` for a built-in role
   */
  update({ name, permissions }: RoleInput, caller: Principal): Promise<RoleItem> {
    return this.lock.withAuthority(caller, async ({ authority, manager, organization }) => {
      const role = await findCustom(manager, organization.id, name);
      authority.assertHolds(role.permissions);
      authority.assertHolds(permissions);
      await manager.update(RoleEntity, { id: role.id }, { permissions });
      if (!isWithin(role.permissions, permissions)) await endLinksOfMembers(manager, organization.id, { role: name });
      const target = { type: 'role', id: role.id, name } as const;
      const changes = changesBetween({ permissions: role.permissions }, { permissions });
      await this.events.record(organization.id, { event: 'role.updated', actor: caller, target, changes }, manager);
      return { name, permissions, built_in: false };
    });
  }

  /** @throws DomainError `not_found`, `permission_widening`, `conflict` for a role in use or a built-in one */
  async delete(name: string, caller: Principal): Promise<void> {
    await this.lock.withAuthority(caller, async ({ authority, manager, organization }) => {
      const role = await findCustom(manager, organization.id, name);
      authority.assertHolds(role.permissions);
      if (await this.members.isRoleUsed(manager, organization.id, name)) {
        throw new DomainError('conflict', 'Members or invitations have this role. Give them another one first.');
      }
      await manager.delete(RoleEntity, { id: role.id });
      const target = { type: 'role', id: role.id, name } as const;
      await this.events.record(organization.id, { event: 'role.deleted', actor: caller, target }, manager);
    });
  }
}

async function findCustom(manager: EntityManager, organizationId: string, name: string): Promise<RoleEntity> {
  if (isBuiltIn(name)) throw new DomainError('conflict', 'A built-in role cannot be changed.');
  const role = await manager.findOneBy(RoleEntity, { organizationId, name });
  if (role === null) throw new DomainError('not_found', 'The organization has no role with this name.');
  return role;
}

/** Names that differ from a built-in one in case only would mislead. */
function isReserved(name: string): boolean {
  return isBuiltIn(name.toLowerCase());
}

function toItem({ name, permissions }: RoleEntity): RoleItem {
  return { name, permissions, built_in: false };
}
