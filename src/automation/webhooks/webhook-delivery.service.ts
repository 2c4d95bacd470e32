import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import type { Principal } from '../../core/principal.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { DELIVERY_STATUSES, WebhookDeliveryEntity } from './webhook-delivery.entity.js';
import type { WebhookDeliveryItem, WebhookDeliveryPage } from './webhook.dto.js';
import { WEBHOOK_EVENTS } from './webhook.entity.js';
import { WebhookRepository } from './webhook.repository.js';

const DELIVERY_LIST: ListSpec = {
  name: 'webhook_deliveries',
  fields: {
    id: { column: 'delivery.id', type: 'uuid' },
    webhook_id: { column: 'delivery.webhookId', type: 'uuid' },
    event: { column: 'delivery.event', type: 'enum', values: WEBHOOK_EVENTS },
    run_id: { column: 'delivery.runId', type: 'uuid', nullable: true },
    status: { column: 'delivery.status', type: 'enum', values: DELIVERY_STATUSES },
    attempts: { column: 'delivery.attempts', type: 'number' },
    last_status: { column: 'delivery.lastStatus', type: 'number', nullable: true },
    next_try_at: { column: 'delivery.nextTryAt', type: 'date', nullable: true },
    created_at: { column: 'delivery.createdAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
  rowBytes: '1024 + octet_length(delivery.body)',
};

/** Reads deliveries, and starts them again. */
@Injectable()
export class WebhookDeliveryService {
  constructor(
    @InjectRepository(WebhookDeliveryEntity) private readonly deliveries: Repository<WebhookDeliveryEntity>,
    private readonly webhooks: WebhookRepository,
    private readonly reads: LongReads,
  ) {}

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<WebhookDeliveryPage> {
    const { id: organizationId } = caller.organization;
    const queryOf = (manager: EntityManager) =>
      manager
        .createQueryBuilder(WebhookDeliveryEntity, 'delivery')
        .where('delivery.organizationId = :organizationId', { organizationId });
    const page = await this.reads.page(organizationId, queryOf, DELIVERY_LIST, input, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  /**
   * Makes a delivery due now, with the same id and body and all its tries. A try that is under way is left to end.
   * @throws DomainError `not_found`, `conflict` if the webhook is disabled
   */
  async redeliver(id: string, caller: Principal): Promise<WebhookDeliveryItem> {
    const organizationId = caller.organization.id;
    const stored = await this.deliveries.findOneBy({ organizationId, id });
    if (stored === null) throw unknownDelivery();
    const redelivered = await this.webhooks.locked(organizationId, stored.webhookId, async ({ enabled }, manager) => {
      if (!enabled) throw new DomainError('conflict', 'The webhook of this delivery is disabled.');
      await manager.query(
        `UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_try_at = now(), updated_at = now()
          WHERE id = $1 AND claim_id IS NULL`,
        [id],
      );
      return manager.findOneBy(WebhookDeliveryEntity, { id });
    });
    if (redelivered === null) throw unknownDelivery();
    return toItem(redelivered);
  }
}

function unknownDelivery(): DomainError {
  return new DomainError('not_found', 'There is no delivery with this id in the organization.');
}

function toItem(delivery: WebhookDeliveryEntity): WebhookDeliveryItem {
  return {
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event: delivery.event,
    run_id: delivery.runId,
    status: delivery.status,
    attempts: delivery.attempts,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    next_try_at: delivery.nextTryAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
  };
}
