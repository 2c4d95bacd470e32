import { ANY, isWithin, type PermissionMap, SELF, unionOf } from '../../core/permissions.js';

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
