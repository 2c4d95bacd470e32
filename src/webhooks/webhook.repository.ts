import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { HeldAnswer } from '../common/answers/answer-budget.js';
import type { ListInput } from '../common/paging/list-input.js';
import type { ListSpec } from '../common/paging/list-spec.js';
import { type Page, paginate } from '../common/paging/paginate.js';
import { requireRoom } from '../database/require-room.js';
import { WebhookDeliveryEntity } from './webhook-delivery.entity.js';
import { WebhookEntity } from './webhook.entity.js';

const MAX_WEBHOOKS = { max: 20, what: 'webhooks' };

const WEBHOOK_LIST: ListSpec = {
  name: 'webhooks',
  fields: {
    id: { column: 'webhook.id', type: 'uuid' },
    url: { column: 'webhook.url', type: 'string' },
    enabled: { column: 'webhook.enabled', type: 'boolean' },
    created_at: { column: 'webhook.createdAt', type: 'date' },
    updated_at: { column: 'webhook.updatedAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
  rowBytes: '1024 + octet_length(webhook.url) + coalesce(pg_column_size(webhook.agent_ids), 0)',
};

type NewWebhook = Pick<WebhookEntity, 'id' | 'organizationId' | 'url' | 'events' | 'agentIds' | 'enabled' | 'secret'>;

/** The columns that an update can write. */
export type WebhookColumns = Partial<Omit<WebhookEntity, 'id' | 'organizationId' | 'createdAt' | 'updatedAt'>>;

/** The statements on webhooks, within one organization. */
@Injectable()
export class WebhookRepository {
  constructor(@InjectRepository(WebhookEntity) private readonly webhooks: Repository<WebhookEntity>) {}

  /** @throws DomainError `limit_reached` */
  insert(webhook: NewWebhook): Promise<WebhookEntity> {
    return this.webhooks.manager.transaction(async (manager) => {
      await requireRoom(manager, WebhookEntity, webhook.organizationId, MAX_WEBHOOKS);
      await manager.insert(WebhookEntity, webhook);
      return manager.findOneByOrFail(WebhookEntity, { id: webhook.id });
    });
  }

  list(organizationId: string, input: ListInput, answer: HeldAnswer): Promise<Page<WebhookEntity>> {
    const query = this.webhooks.createQueryBuilder('webhook');
    return paginate(
      query.where('webhook.organizationId = :organizationId', { organizationId }),
      WEBHOOK_LIST,
      input,
      answer,
    );
  }

  find(organizationId: string, id: string): Promise<WebhookEntity | null> {
    return this.webhooks.findOneBy({ organizationId, id });
  }

  /**
   * Writes the columns that `decide` derives from the locked webhook; null if there is none. Disabling drops what is pending: the lock
   * makes events of this moment wait, and then they find the webhook disabled.
   */
  update(
    organizationId: string,
    id: string,
    decide: (stored: WebhookEntity) => WebhookColumns,
  ): Promise<WebhookEntity | null> {
    return this.locked(organizationId, id, async (stored, manager) => {
      const columns = decide(stored);
      if (Object.keys(columns).length > 0) await manager.update(WebhookEntity, { id }, columns);
      if (columns.enabled === false) await manager.delete(WebhookDeliveryEntity, { webhookId: id, status: 'pending' });
      return manager.findOneByOrFail(WebhookEntity, { id });
    });
  }

  /** Deletes the webhook with its deliveries, and returns it; null if there is none. */
  delete(organizationId: string, id: string): Promise<WebhookEntity | null> {
    return this.locked(organizationId, id, async (stored, manager) => {
      await manager.delete(WebhookEntity, { id });
      return stored;
    });
  }

  /** Runs work on a locked webhook, in a transaction; null if there is none. */
  locked<T>(
    organizationId: string,
    id: string,
    work: (stored: WebhookEntity, manager: EntityManager) => Promise<T>,
  ): Promise<T | null> {
    return this.webhooks.manager.transaction(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const stored = await manager.findOne(WebhookEntity, { where: { organizationId, id }, lock });
      return stored === null ? null : work(stored, manager);
    });
  }
}
