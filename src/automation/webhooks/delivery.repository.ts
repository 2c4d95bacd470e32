import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { deleteBatch } from '../../platform/database/delete-batch.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { TRY_TIMEOUT_MS, type WebhookTry } from './webhook-sender.js';
import { WebhookDeliveryEntity } from './webhook-delivery.entity.js';

/** After this time, a claimed delivery is tried again: its process counts as lost. */
const CLAIM_MS = TRY_TIMEOUT_MS * 2;

/** Settled deliveries are kept for this time. */
const KEPT_DAYS = 30;

/** A delivery that this process tries. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly claimId: string;
  /** The number of tries before this one. */
  readonly attempts: number;
  readonly body: string;
  readonly organizationId: string;
  readonly webhookId: string;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

// `lane` steps through the index from one webhook with pending deliveries to the next, so that the backlog of one is
// not read to find another. $1 holds the tries of this process by webhook, $2 the most that a webhook can have, $3 the
// room of this process.
const CLAIM = {
  name: 'webhook_claim',
  text: `
    WITH RECURSIVE lane AS (
        (SELECT webhook_id FROM webhook_deliveries WHERE status = 'pending' ORDER BY webhook_id LIMIT 1)
      UNION ALL
        SELECT (SELECT later.webhook_id FROM webhook_deliveries later
                 WHERE later.status = 'pending' AND later.webhook_id > lane.webhook_id ORDER BY later.webhook_id
                   LIMIT 1)
          FROM lane WHERE lane.webhook_id IS NOT NULL
    ), due AS MATERIALIZED (
      SELECT first.id FROM lane CROSS JOIN LATERAL (
        SELECT id FROM webhook_deliveries
         WHERE webhook_id = lane.webhook_id AND status = 'pending' AND next_try_at <= now()
         ORDER BY next_try_at LIMIT greatest($2::integer - coalesce(($1::jsonb->>lane.webhook_id::text)::integer, 0), 0)
         FOR UPDATE SKIP LOCKED) AS first
       LIMIT $3
    )
    UPDATE webhook_deliveries delivery
       SET next_try_at = now() + $4::integer * interval '1 millisecond', claim_id = gen_random_uuid(),
         updated_at = now()
      FROM due, webhooks webhook
     WHERE delivery.id = due.id AND webhook.id = delivery.webhook_id AND webhook.enabled
     RETURNING delivery.id, delivery.claim_id AS "claimId", delivery.attempts, delivery.body,
               delivery.organization_id AS "organizationId", delivery.webhook_id AS "webhookId", webhook.url,
               webhook.secret,
               webhook.previous_secret AS "previousSecret", webhook.previous_secret_until AS "previousSecretUntil"`,
};

/** The statements of the deliverer, over all organizations. */
@Injectable()
export class DeliveryRepository {
  constructor(
    @InjectRepository(WebhookDeliveryEntity) private readonly deliveries: Repository<WebhookDeliveryEntity>,
    private readonly statements: PreparedStatements,
    private readonly config: AppConfig,
  ) {}

  /**
   * Takes due deliveries. Processes skip each other's, and a delivery that is not settled is due again half a minute
   * later.
   * @param tries of this process, by webhook
   * @param perWebhook the most tries that a webhook can have here
   * @param room the most deliveries to take
   */
  claim(tries: ReadonlyMap<string, number>, perWebhook: number, room: number): Promise<ClaimedDelivery[]> {
    const busy = JSON.stringify(Object.fromEntries(tries));
    return this.statements.rows<ClaimedDelivery>(CLAIM, [busy, perWebhook, room, CLAIM_MS]);
  }

  async recordDelivered({ id, claimId }: ClaimedDelivery, { status }: WebhookTry): Promise<void> {
    await this.deliveries.query(
      `UPDATE webhook_deliveries
          SET status = 'delivered', attempts = attempts + 1, last_status = $3, last_error = NULL, next_try_at = NULL,
              claim_id = NULL, updated_at = now()
        WHERE id = $1 AND claim_id = $2`,
      [id, claimId, status],
    );
  }

  /** @param nextTryInMs undefined if this was the last try */
  async recordFailed(
    { id, claimId }: ClaimedDelivery,
    { status, error }: WebhookTry,
    nextTryInMs: number | undefined,
  ): Promise<void> {
    await this.deliveries.query(
      `UPDATE webhook_deliveries
          SET status = CASE WHEN $5::integer IS NULL THEN 'failed' ELSE 'pending' END, attempts = attempts + 1,
              last_status = $3,
              last_error = $4, next_try_at = now() + $5::integer * interval '1 millisecond', claim_id = NULL,
              updated_at = now()
        WHERE id = $1 AND claim_id = $2`,
      [id, claimId, status, error ?? null, nextTryInMs ?? null],
    );
  }

  /** Gives a delivery back without counting a try, so that another process can try it at once. */
  async release({ id, claimId }: ClaimedDelivery): Promise<void> {
    await this.deliveries.query(
      `UPDATE webhook_deliveries SET next_try_at = now(), claim_id = NULL, updated_at = now()
         WHERE id = $1 AND claim_id = $2`,
      [id, claimId],
    );
  }

  /** Deletes up to 1,000 deliveries after 30 days: settled ones, and what disabling a webhook could not drop. */
  @DeletesExpired('webhook deliveries')
  deleteExpired(now: Date): Promise<number> {
    const condition = `created_at < $1
      AND (status <> 'pending' OR NOT (SELECT enabled FROM webhooks WHERE webhooks.id = webhook_id))
        ORDER BY created_at`;
    const before = new Date(now.getTime() - KEPT_DAYS * this.config.settings.retentionDayMs);
    return deleteBatch(this.deliveries, 'webhook_deliveries', condition, [before]);
  }
}
