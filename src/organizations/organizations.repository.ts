import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, Repository } from 'typeorm';
import { MemberEntity } from './member.entity.js';
import { OrganizationEntity } from './organization.entity.js';
import { UserEntity } from './user.entity.js';

@Injectable()
export class OrganizationsRepository {
  constructor(
    @InjectRepository(OrganizationEntity) private readonly organizations: Repository<OrganizationEntity>,
    private readonly dataSource: DataSource,
  ) {}

  findBySlug(slug: string): Promise<OrganizationEntity | null> {
    return this.organizations.findOneBy({ slug });
  }

  findOwner(organizationId: string): Promise<MemberEntity | null> {
    return this.dataSource.manager.findOneBy(MemberEntity, { organizationId, role: 'owner' });
  }

  async insertWithOwner(
    organization: Pick<OrganizationEntity, 'id' | 'slug' | 'name'>,
    owner: Pick<UserEntity, 'id' | 'name'>,
  ): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      await manager.insert(OrganizationEntity, { ...organization, memberPermissions: {} });
      await manager.insert(UserEntity, owner);
      await manager.insert(MemberEntity, { organizationId: organization.id, userId: owner.id, role: 'owner' });
    });
  }
}
