import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';

/** What a webhook can be told of. */
export const WEBHOOK_EVENTS = [
  'run.completed',
  'run.failed',
  'run.cancelled',
  'approval.requested',
  'spend.threshold',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** An address that is told of events of its organization. */
@Entity('webhooks')
@Index('webhooks_organization_idx', ['organizationId', 'createdAt'])
export class WebhookEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', length: 2048 })
  url: string;

  @Column({ type: 'jsonb' })
  events: WebhookEvent[];

  /** Only events of these agents; null means all agents. */
  @Column({ type: 'jsonb', name: 'agent_ids', nullable: true })
  agentIds: string[] | null;

  @Column({ type: 'boolean', default: true })
  enabled: boolean;

  /** Why the service has disabled it; null if it has not. */
  @Column({ type: 'varchar', name: 'disabled_reason', length: 256, nullable: true })
  disabledReason: string | null;

  /** Sealed by the vault; never the secret itself. */
  @Column({ type: 'text' })
  secret: string;

  /** The secret before the last rotation, sealed as well. It signs until `previousSecretUntil`. */
  @Column({ type: 'text', name: 'previous_secret', nullable: true })
  previousSecret: string | null;

  @Column({ type: 'timestamptz', name: 'previous_secret_until', precision: 3, nullable: true })
  previousSecretUntil: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
