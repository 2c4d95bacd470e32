import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { changesBetween, type EventActor } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { changeOrganization, requireRoom } from '../../platform/database/organization-locks.js';
import { AiProviderEntity } from './ai-provider.entity.js';

/** Per organization: one response lists them all. */
const MAX_PROVIDERS = { max: 100, what: 'AI providers' };

type NewAiProvider = Omit<AiProviderEntity, 'createdAt' | 'updatedAt'>;

/** The columns that an update can write. */
export type AiProviderColumns = Partial<
  Pick<AiProviderEntity, 'title' | 'kind' | 'baseUrl' | 'apiKey' | 'options' | 'secrets'>
>;

@Injectable()
export class AiProviderRepository {
  constructor(
    @InjectRepository(AiProviderEntity) private readonly providers: Repository<AiProviderEntity>,
    private readonly events: AuditEvents,
  ) {}

  /** @throws DomainError `limit_reached` */
  async insert(provider: NewAiProvider, actor: EventActor): Promise<AiProviderEntity> {
    return changeOrganization(this.providers.manager, provider.organizationId, async (manager) => {
      await requireRoom(manager, AiProviderEntity, provider.organizationId, MAX_PROVIDERS);
      await manager.insert(AiProviderEntity, provider);
      await this.recordChange(manager, actor, { after: provider });
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
    { id, actor }: { id: string; actor: EventActor },
    decide: (stored: AiProviderEntity) => AiProviderColumns,
  ): Promise<AiProviderEntity | null> {
    return this.providers.manager.transaction(async (manager) => {
      const lock = { mode: 'for_no_key_update' } as const;
      const stored = await manager.findOne(AiProviderEntity, { where: { organizationId, id }, lock });
      if (stored === null) return null;
      const columns = decide(stored);
      if (Object.keys(columns).length === 0) return stored;
      await manager.update(AiProviderEntity, { id }, columns);
      await this.recordChange(manager, actor, { before: stored, after: { ...stored, ...columns } });
      return manager.findOneByOrFail(AiProviderEntity, { id });
    });
  }

  /** Deletes the provider and returns it; null if there is none. The foreign key clears the tiers that use it. */
  deleteOfOrganization(organizationId: string, id: string, actor: EventActor): Promise<AiProviderEntity | null> {
    return this.providers.manager.transaction(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const stored = await manager.findOne(AiProviderEntity, { where: { organizationId, id }, lock });
      if (stored === null) return null;
      await manager.delete(AiProviderEntity, { id: stored.id });
      await this.recordChange(manager, actor, { before: stored });
      return stored;
    });
  }

  private async recordChange(
    manager: EntityManager,
    actor: EventActor,
    { before, after }: { before?: NewAiProvider; after?: NewAiProvider },
  ): Promise<void> {
    const provider = after ?? before;
    if (provider === undefined) return;
    const event =
      before === undefined ? 'provider.created' : after === undefined ? 'provider.deleted' : 'provider.updated';
    const isSameKey = before?.apiKey === after?.apiKey && before?.secrets === after?.secrets;
    const hasKey = (after?.apiKey ?? after?.secrets ?? null) !== null;
    const key = isSameKey ? {} : { key: hasKey ? 'set' : 'removed' };
    const changes = { ...changesBetween(before && recorded(before), after && recorded(after)), ...key };
    const target = { type: 'provider', id: provider.id, name: provider.title } as const;
    await this.events.record(provider.organizationId, { event, actor, target, changes }, manager);
  }
}

/** What events show of a provider. */
function recorded({ title, kind, baseUrl, options: { api_version, region } }: NewAiProvider) {
  return { title, kind, base_url: baseUrl, api_version, region };
}
