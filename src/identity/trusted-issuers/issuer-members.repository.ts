import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { OrganizationLimits } from '../../core/limits.js';
import type { PermissionMap } from '../../core/permissions.js';
import type { RunAccess } from '../../core/principal.js';
import {
  joinMemberRights,
  MEMBER_RIGHTS_COLUMNS,
  type MemberRights,
  permissionsOfMember,
} from '../organizations/member-rights.js';

/** A person in an organization. */
interface Membership {
  readonly userId: string;
  readonly organizationId: string;
}

/** A membership with what a principal needs of it. */
export interface FoundMember extends Membership {
  readonly organizationSlug: string;
  readonly runAccess: RunAccess;
  readonly limits: OrganizationLimits;
  readonly permissions: PermissionMap;
}

type MemberRow = Omit<FoundMember, 'permissions'> & MemberRights;

const COLUMNS = `membership.user_id AS "userId", o.id AS "organizationId", o.slug AS "organizationSlug",
  o.run_access AS "runAccess", o.limits, ${MEMBER_RIGHTS_COLUMNS}`;

/** Finds the members for whom issuers vouch. */
@Injectable()
export class IssuerMembersRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * A membership of the person with this e-mail address: in the given organization if there is one, otherwise in any
   * other, so that the guard refuses it like every credential of another organization. Without an organization, the
   * person's only membership.
   */
  async findMember(email: string, org: string | undefined): Promise<FoundMember | undefined> {
    const rows: MemberRow[] = await this.database.query(
      `SELECT ${COLUMNS}
         FROM users JOIN members membership ON membership.user_id = users.id
         JOIN organizations o ON o.id = membership.organization_id ${joinMemberRights('membership')}
        WHERE lower(users.email) = lower($1)
        ORDER BY o.slug = $2 DESC, o.slug LIMIT 2`,
      [email, org ?? ''],
    );
    const [first] = rows;
    if (first === undefined || (org === undefined && rows.length > 1)) return undefined;
    return withPermissions(first);
  }

  /** Those of the memberships that still exist. */
  async findMemberships(
    memberships: readonly Membership[],
    manager: EntityManager = this.database.manager,
  ): Promise<FoundMember[]> {
    const rows: MemberRow[] = await manager.query(
      `SELECT ${COLUMNS}
         FROM (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS asked (user_id, organization_id)) AS membership
         JOIN organizations o ON o.id = membership.organization_id ${joinMemberRights('membership')}
        WHERE members.user_id IS NOT NULL`,
      [memberships.map(({ userId }) => userId), memberships.map(({ organizationId }) => organizationId)],
    );
    return rows.map(withPermissions);
  }
}

function withPermissions({ role, rolePermissions, memberPermissions, ...member }: MemberRow): FoundMember {
  return { ...member, permissions: permissionsOfMember({ role, rolePermissions, memberPermissions }) };
}
