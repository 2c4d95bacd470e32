import { Injectable } from '@nestjs/common';
import { newId } from '../common/ids.js';
import { OrganizationsRepository } from './organizations.repository.js';

/** An organization and the user who owns it. */
export interface OwnedOrganization {
  id: string;
  slug: string;
  ownerId: string;
}

@Injectable()
export class OrganizationsService {
  constructor(private readonly repository: OrganizationsRepository) {}

  /** Returns the organization with this slug. Creates it with an owner if it does not exist. */
  async ensure(slug: string): Promise<OwnedOrganization> {
    const existing = await this.repository.findBySlug(slug);
    if (existing === null) {
      const organization = { id: newId(), slug, name: slug };
      const owner = { id: newId(), name: 'Owner' };
      await this.repository.insertWithOwner(organization, owner);
      return { id: organization.id, slug, ownerId: owner.id };
    }
    const owner = await this.repository.findOwner(existing.id);
    if (owner === null) throw new Error(`The organization ${slug} has no owner.`);
    return { id: existing.id, slug, ownerId: owner.userId };
  }
}
