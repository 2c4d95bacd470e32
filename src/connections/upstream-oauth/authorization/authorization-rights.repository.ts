import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { type PermissionMap } from '../../../core/permissions.js';
import {
  joinMemberRights,
  MEMBER_RIGHTS_COLUMNS,
  type MemberRights,
  permissionsOfMember,
} from '../../../identity/organizations/member-rights.js';

/** Reads what a person is permitted to do in an organization. */
@Injectable()
export class AuthorizationRightsRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** Undefined for a person who is not a member. */
  async permissionsOf(organizationId: string, userId: string): Promise<PermissionMap | undefined> {
    const rows: (MemberRights | { role: null })[] = await this.database.query(
      `SELECT ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT $1::uuid AS organization_id, $2::uuid AS user_id) AS person
         JOIN organizations o ON o.id = person.organization_id
         ${joinMemberRights('person')}`,
      [organizationId, userId],
    );
    const [rights] = rows;
    return rights === undefined || rights.role === null ? undefined : permissionsOfMember(rights);
  }
}
