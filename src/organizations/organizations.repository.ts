import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';

/** A person's role in one organization. */
export interface Membership {
  readonly organizationName: string;
  readonly role: string;
}

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
  findMemberships(userId: string): Promise<Membership[]> {
    return this.organizations.query(
      `SELECT o.name AS "organizationName", members.role
         FROM members JOIN organizations o ON o.id = members.organization_id
        WHERE members.user_id = $1 ORDER BY o.name, o.id`,
      [userId],
    );
  }

  async insert(organization: Pick<OrganizationEntity, 'id' | 'slug' | 'name'>): Promise<void> {
    await this.organizations.insert(organization);
  }

  /** By name. */
  findRoles(organizationId: string): Promise<RoleEntity[]> {
    return this.roles.find({ where: { organizationId }, order: { name: 'ASC' } });
  }

  findRole(organizationId: string, name: string): Promise<RoleEntity | null> {
    return this.roles.findOneBy({ organizationId, name });
  }
}
