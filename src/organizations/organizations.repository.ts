import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { OrganizationEntity } from './organization.entity.js';

@Injectable()
export class OrganizationsRepository {
  constructor(@InjectRepository(OrganizationEntity) private readonly organizations: Repository<OrganizationEntity>) {}

  findBySlug(slug: string): Promise<OrganizationEntity | null> {
    return this.organizations.findOneBy({ slug });
  }

  async insert(organization: Pick<OrganizationEntity, 'id' | 'slug' | 'name'>): Promise<void> {
    await this.organizations.insert(organization);
  }
}
