import { Injectable } from '@nestjs/common';
import { newId } from '../common/ids.js';
import type { OrganizationEntity } from './organization.entity.js';
import { OrganizationsRepository } from './organizations.repository.js';

@Injectable()
export class OrganizationsService {
  constructor(private readonly repository: OrganizationsRepository) {}

  /** Returns the organization with this slug. Creates it, without members, if it does not exist. */
  async ensure(slug: string): Promise<Pick<OrganizationEntity, 'id' | 'slug'>> {
    const existing = await this.repository.findBySlug(slug);
    if (existing !== null) return existing;
    const organization = { id: newId(), slug, name: slug };
    await this.repository.insert(organization);
    return organization;
  }
}
