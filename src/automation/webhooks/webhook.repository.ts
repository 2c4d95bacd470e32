import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { type Page, paginate } from '../../core/paging/paginate.js';
import { changeOrganization, requireRoom } from '../../platform/database/organization-locks.js';
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

const DELIVERIES_PER_STATEMENT = 1000;

/** SQL: not what a webhook gets after it is enabled again. */
const DROPPED = `status = 'pending' AND NOT (SELECT enabled FROM webhooks WHERE webhooks.id = webhook_id)`;

/** The columns that an update can write. */
export type WebhookColumns = Partial<Omit<WebhookEntity, 'id' | 'organizationId' | 'createdAt' | 'updatedAt'>>;

/** The statements on webhooks, within one organization. */
@Injectable()
export class WebhookRepository {
  constructor(@InjectRepository(WebhookEntity) private readonly webhooks: Repository<WebhookEntity>) {}

  /** @throws DomainError `limit_reached` */
  insert(webhook: NewWebhook): Promise<WebhookEntity> {
    return changeOrganization(this.webhooks.manager, webhook.organizationId, async (manager) => {
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
   * Writes the columns that `decide` derives from the locked webhook; null if there is none. Disabling drops what is
   * pending: the lock makes events of this moment wait, and then they find the webhook disabled. What is left of that
   * is dropped before the webhook can be enabled.
   */
  async update(
    organizationId: string,
    id: string,
    decide: (stored: WebhookEntity) => WebhookColumns,
  ): Promise<WebhookEntity | null> {
    if ((await this.find(organizationId, id))?.enabled === false) await this.deleteDeliveries(id, DROPPED);
    const written = await this.locked(organizationId, id, async (stored, manager) => {
      const columns = decide(stored);
      if (Object.keys(columns).length > 0) await manager.update(WebhookEntity, { id }, columns);
      return { webhook: await manager.findOneByOrFail(WebhookEntity, { id }), isDisabled: columns.enabled === false };
    });
    if (written?.isDisabled === true) await this.deleteDeliveries(id, DROPPED);
    return written?.webhook ?? null;
  }

  /**
   * Deletes the webhook with its deliveries, and returns it; null if there is none. It is disabled first, so that
   * nothing is added and nothing is sent while its deliveries are deleted. If that fails, it stays disabled, and can be
   * deleted again.
   */
  async delete(organizationId: string, id: string): Promise<WebhookEntity | null> {
    const stored = await this.locked(organizationId, id, async (webhook, manager) => {
      await manager.update(WebhookEntity, { id }, { enabled: false });
      return webhook;
    });
    if (stored === null) return null;
    await this.deleteDeliveries(id, 'true');
    const { affected } = await this.webhooks.delete({ organizationId, id });
    return affected === 1 ? stored : null;
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

  /**
   * Deletes deliveries of a webhook without a lock on it, for which the end of each run in the organization would wait.
   * @param condition SQL on the deliveries
   */
  private async deleteDeliveries(webhookId: string, condition: string): Promise<void> {
    let found: { id: string }[];
    do {
      found = await this.webhooks.query(
        `SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND ${condition} LIMIT $2`,
        [webhookId, DELIVERIES_PER_STATEMENT],
      );
      const ids = found.map(({ id }) => id);
      await this.webhooks.query(`DELETE FROM webhook_deliveries WHERE id = ANY($1) AND ${condition}`, [ids]);
    } while (found.length === DELIVERIES_PER_STATEMENT);
  }
}
