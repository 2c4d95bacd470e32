import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { OrganizationEntity, RoleEntity } from './organization.entity.js';

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
