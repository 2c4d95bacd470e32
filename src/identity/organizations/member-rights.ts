import { ANY, isWithin, type PermissionMap, SELF, unionOf } from '../../core/permissions.js';
import { DomainError } from '../../core/domain-error.js';

/** The roles that hold everything. An admin cannot invite, change or remove owners. */
export const OWNER = 'owner';
export const ADMIN = 'admin';
/** Holds nothing beyond the organization's `member_permissions`. */
export const MEMBER = 'member';

/** A role of every organization, whose name no custom role can have. */
export function isBuiltIn(role: string): boolean {
  return [OWNER, ADMIN, MEMBER].includes(role);
}

export const EVERYTHING: PermissionMap = { [SELF]: [ANY], [ANY]: [ANY] };

/** A membership as far as it decides permissions. */
export interface MemberRights {
  readonly role: string;
  /** The map of a custom role; null for a built-in one. */
  readonly rolePermissions: PermissionMap | null;
  /** What every member of the organization has at least. */
  readonly memberPermissions: PermissionMap;
}

/** The permissions of a person in an organization: those of the role and those of every member. */
export function permissionsOfMember({ role, rolePermissions, memberPermissions }: MemberRights): PermissionMap {
  if (role === OWNER || role === ADMIN) return EVERYTHING;
  return unionOf(rolePermissions ?? {}, memberPermissions);
}

/** True if one role holds something that the other does not. An owner holds more than an admin. */
export function holdsMore(one: MemberRights, other: MemberRights): boolean {
  if (one.role === OWNER && other.role !== OWNER) return true;
  return !isWithin(permissionsOfMember(one), permissionsOfMember(other));
}

/**
 * SQL that joins a membership, its custom role and its organization to a row with `organization_id` and `user_id`; the
 * columns of `MEMBER_RIGHTS_COLUMNS` are null for a person who is no member.
 */
export function joinMemberRights(row: string): string {
  return `LEFT JOIN members ON members.organization_id = ${row}.organization_id AND members.user_id = ${row}.user_id
          LEFT JOIN roles ON roles.organization_id = members.organization_id AND roles.name = members.role`;
}

/** For a query with `joinMemberRights` and the organization as `o`. */
export const MEMBER_RIGHTS_COLUMNS =
  'members.role, roles.permissions AS "rolePermissions", o.member_permissions AS "memberPermissions"';

/** Who changes members, roles and the organization, with the rights of this moment. */
interface Actor {
  /** Null for a key of the organization. */
  readonly userId: string | null;
  /** The role of the person. */
  readonly role: string | null;
  readonly permissions: PermissionMap;
}

/** What a caller can give to others, or take from them. Pure. */
export class Authority {
  constructor(private readonly actor: Actor) {}

  /** @throws DomainError `permission_widening` */
  assertHolds(permissions: PermissionMap): void {
    if (isWithin(permissions, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot grant permissions that it does not hold.');
  }

  /**
   * Rejects giving a role, or changing somebody who has it, unless the caller holds everything in it. Only owners, and
   * keys of the organization with all permissions, decide about owners.
   * @throws DomainError `permission_widening`
   */
  assertManages(rights: MemberRights): void {
    if (rights.role === OWNER && !this.isOwner()) {
      throw new DomainError('permission_widening', 'Only an owner can invite, change or remove owners.');
    }
    if (isWithin(permissionsOfMember(rights), this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The role holds permissions that the caller does not hold.');
  }

  /** Rejects opening the agents to every credential. @throws DomainError `permission_widening` */
  assertCanOpenAgents(): void {
    if (isWithin({ [ANY]: [ANY] }, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot grant access to agents that it does not hold.');
  }

  /**
   * Rejects lifting a limit of the organization, which is the caller's own, unless the caller holds all management
   * tools.
   * @throws DomainError `permission_widening`
   */
  assertCanLiftLimits(): void {
    if (isWithin({ [SELF]: [ANY] }, this.actor.permissions)) return;
    throw new DomainError('permission_widening', 'The caller cannot lift a limit that applies to it.');
  }

  isSelf(userId: string | null): boolean {
    return userId !== null && userId === this.actor.userId;
  }

  private isOwner(): boolean {
    const { userId, role, permissions } = this.actor;
    return (userId === null || role === OWNER) && isWithin(EVERYTHING, permissions);
  }
}
