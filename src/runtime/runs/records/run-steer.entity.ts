import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { Tier } from '../../../core/tier.js';

/**
 * A request that added messages to a run under way. The run has taken it once its number is not greater than
 * `runs.steers_taken`; if the run ends before that, the steer becomes a run of its own, and this row is deleted.
 */
@Entity('run_steers')
@Index('run_steers_number_idx', ['runId', 'number'], { unique: true })
@Index('run_steers_idempotency_idx', ['organizationId', 'threadId', 'idempotencyKey'], {
  unique: true,
  where: 'idempotency_key IS NOT NULL',
})
export class RunSteerEntity {
  /** Also the id of the run that it becomes if its run ends first. */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'run_id', update: false })
  @ForeignKey('runs', { onDelete: 'CASCADE' })
  runId: string;

  /** Its place among the steers of the run, from 1. */
  @Column({ type: 'int', update: false })
  number: number;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C', update: false })
  threadId: string;

  @Column({ type: 'uuid', name: 'user_id', nullable: true, update: false })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true, update: false })
  apiKeyId: string | null;

  @Column({ type: 'uuid', name: 'grant_id', nullable: true, update: false })
  grantId: string | null;

  @Column({ type: 'varchar', name: 'request_id', length: 128, update: false })
  requestId: string;

  /** Of the run that it becomes if its run ends first. */
  @Column({ type: 'varchar', length: 16, update: false })
  tier: Tier;

  /** It ends the step that is in progress. */
  @Column({ type: 'boolean', update: false })
  interrupts: boolean;

  @Column({ type: 'varchar', length: 256, nullable: true, update: false })
  traceparent: string | null;

  @Column({ type: 'varchar', length: 512, nullable: true, update: false })
  tracestate: string | null;

  @Column({ type: 'varchar', name: 'idempotency_key', length: 255, nullable: true })
  idempotencyKey: string | null;

  @Column({ type: 'char', name: 'idempotency_hash', length: 64, nullable: true })
  idempotencyHash: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
