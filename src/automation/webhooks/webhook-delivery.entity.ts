import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { WebhookEvent } from './webhook.entity.js';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One event for one webhook. The function `webhook_deliver` writes it in the transaction of the event. */
@Entity('webhook_deliveries')
@Index('webhook_deliveries_due_idx', ['webhookId', 'nextTryAt'], { where: "status = 'pending'" })
@Index('webhook_deliveries_webhook_idx', ['webhookId'])
@Index('webhook_deliveries_list_idx', ['organizationId', 'createdAt'])
@Index('webhook_deliveries_created_idx', ['createdAt'])
@Check('webhook_deliveries_status_check', "status IN ('pending', 'delivered', 'failed')")
export class WebhookDeliveryEntity {
  /** Also the `webhook-id` of every try. */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'uuid', name: 'webhook_id', update: false })
  @ForeignKey('webhooks', { onDelete: 'CASCADE' })
  webhookId: string;

  @Column({ type: 'varchar', length: 32, update: false })
  event: WebhookEvent;

  /** Null for an event that is of no run. */
  @Column({ type: 'uuid', name: 'run_id', nullable: true, update: false })
  runId: string | null;

  /** The body of every try, as it is signed. */
  @Column({ type: 'text', update: false })
  body: string;

  @Column({ type: 'varchar', length: 16, default: 'pending' })
  status: DeliveryStatus;

  /** The number of finished tries. */
  @Column({ type: 'int', default: 0 })
  attempts: number;

  /** The HTTP status of the last try; null without an answer. */
  @Column({ type: 'int', name: 'last_status', nullable: true })
  lastStatus: number | null;

  @Column({ type: 'varchar', name: 'last_error', length: 512, nullable: true })
  lastError: string | null;

  /** When a pending delivery is tried next. During a try: when the process that tries counts as lost. */
  @Column({ type: 'timestamptz', name: 'next_try_at', precision: 3, nullable: true })
  nextTryAt: Date | null;

  /** The try that is under way. It fences off the results of earlier ones. */
  @Column({ type: 'uuid', name: 'claim_id', nullable: true })
  claimId: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
