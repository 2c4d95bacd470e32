import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { requireRoom } from '../database/require-room.js';
import { AiProviderEntity } from './ai-provider.entity.js';

/** Per organization: one response lists them all. */
const MAX_PROVIDERS = { max: 100, what: 'AI providers' };

/** The columns that an update can write. */
export type AiProviderColumns = Partial<Pick<AiProviderEntity, 'title' | 'kind' | 'baseUrl' | 'apiKey'>>;

@Injectable()
export class AiProviderRepository {
  constructor(@InjectRepository(AiProviderEntity) private readonly providers: Repository<AiProviderEntity>) {}

  /** @throws DomainError `limit_reached` */
  async insert(provider: Omit<AiProviderEntity, 'createdAt' | 'updatedAt'>): Promise<AiProviderEntity> {
    return this.providers.manager.transaction(async (manager) => {
      await requireRoom(manager, AiProviderEntity, provider.organizationId, MAX_PROVIDERS);
      await manager.insert(AiProviderEntity, provider);
      return manager.findOneByOrFail(AiProviderEntity, { id: provider.id });
    });
  }

  findAllOfOrganization(organizationId: string): Promise<AiProviderEntity[]> {
    return this.providers.find({ where: { organizationId }, order: { createdAt: 'ASC', id: 'ASC' } });
  }

  findOfOrganization(organizationId: string, id: string): Promise<AiProviderEntity | null> {
    return this.providers.findOneBy({ organizationId, id });
  }

  /**
   * Writes the columns that `decide` derives from the stored provider. The row is locked meanwhile, so that two valid
   * updates cannot combine to an invalid provider. If `decide` throws, the provider does not change.
   */
  updateOfOrganization(
    organizationId: string,
    id: string,
    decide: (stored: AiProviderEntity) => AiProviderColumns,
  ): Promise<AiProviderEntity | null> {
    return this.providers.manager.transaction(async (manager) => {
      const lock = { mode: 'for_no_key_update' } as const;
      const stored = await manager.findOne(AiProviderEntity, { where: { organizationId, id }, lock });
      if (stored === null) return null;
      const columns = decide(stored);
      if (Object.keys(columns).length === 0) return stored;
      await manager.update(AiProviderEntity, { id }, columns);
      return manager.findOneByOrFail(AiProviderEntity, { id });
    });
  }

  /** Deletes the provider. The foreign key clears the tiers that use it. */
  async deleteOfOrganization(organizationId: string, id: string): Promise<boolean> {
    const result = await this.providers.delete({ organizationId, id });
    return result.affected === 1;
  }
}
