import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { PermissionMap } from '../../core/permissions.js';
import { joinMemberRights, MEMBER_RIGHTS_COLUMNS, type MemberRights, permissionsOfMember } from './member-rights.js';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';

/** A person's role in one organization. */
export interface Membership {
  readonly organizationName: string;
  readonly organizationSlug: string;
  readonly role: string;
  /** What the person may do there. */
  readonly permissions: PermissionMap;
}

type MembershipRow = Omit<Membership, 'permissions'> & MemberRights;

@Injectable()
export class OrganizationsRepository {
  constructor(
    @InjectRepository(OrganizationEntity) private readonly organizations: Repository<OrganizationEntity>,
    @InjectRepository(RoleEntity) private readonly roles: Repository<RoleEntity>,
  ) {}

  findById(id: string): Promise<OrganizationEntity> {
    return this.organizations.findOneByOrFail({ id });
  }

  findBySlug(slug: string): Promise<OrganizationEntity | null> {
    return this.organizations.findOneBy({ slug });
  }

  /** The organizations that the person is a member of, by name. */
  async findMemberships(userId: string): Promise<Membership[]> {
    const rows: MembershipRow[] = await this.organizations.query(
      `SELECT o.name AS "organizationName", o.slug AS "organizationSlug", ${MEMBER_RIGHTS_COLUMNS}
         FROM (SELECT organization_id, user_id FROM members WHERE user_id = $1) AS membership
         JOIN organizations o ON o.id = membership.organization_id ${joinMemberRights('membership')}
        ORDER BY o.name, o.id`,
      [userId],
    );
    return rows.map(({ organizationName, organizationSlug, ...rights }) => ({
      organizationName,
      organizationSlug,
      role: rights.role,
      permissions: permissionsOfMember(rights),
    }));
  }

  async insert(organization: Pick<OrganizationEntity, 'id' | 'slug' | 'name'>): Promise<void> {
    await this.organizations.insert(organization);
  }

  /** By name. */
  findRoles(organizationId: string): Promise<RoleEntity[]> {
    return this.roles.find({ where: { organizationId }, order: { name: 'ASC' } });
  }
}
