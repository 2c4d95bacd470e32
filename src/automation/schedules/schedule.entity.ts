import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { CredentialKind } from '../../core/principal.js';
import type { Tier } from '../../core/tier.js';

export const OVERLAPS = ['skip', 'queue'] as const;
/** What happens when the previous run of a schedule is still open at its next time. */
export type Overlap = (typeof OVERLAPS)[number];

/** A message that is posted at the times of a cron expression. */
@Entity('schedules')
@Index('schedules_organization_idx', ['organizationId', 'createdAt'])
@Index('schedules_due_idx', ['nextRunAt'], { where: 'enabled' })
@Check('schedules_overlap_check', "overlap IN ('skip', 'queue')")
export class ScheduleEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', length: 256 })
  title: string;

  @Column({ type: 'uuid', name: 'virtual_mcp_id' })
  virtualMcpId: string;

  /** The thread of all runs; null makes a thread for each. */
  @Column({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C', nullable: true })
  threadId: string | null;

  @Column({ type: 'varchar', length: 256 })
  cron: string;

  @Column({ type: 'varchar', length: 64 })
  timezone: string;

  @Column({ type: 'text' })
  message: string;

  @Column({ type: 'varchar', length: 16, nullable: true })
  tier: Tier | null;

  @Column({ type: 'varchar', length: 16 })
  overlap: Overlap;

  @Column({ type: 'boolean', name: 'catch_up' })
  catchUp: boolean;

  @Column({ type: 'boolean' })
  enabled: boolean;

  /** Why the service has disabled it; null if it has not. */
  @Column({ type: 'varchar', name: 'disabled_reason', length: 256, nullable: true })
  disabledReason: string | null;

  /** null while it is disabled. */
  @Column({ type: 'timestamptz', name: 'next_run_at', precision: 3, nullable: true })
  nextRunAt: Date | null;

  @Column({ type: 'timestamptz', name: 'last_run_at', precision: 3, nullable: true })
  lastRunAt: Date | null;

  @Column({ type: 'uuid', name: 'last_run_id', nullable: true })
  lastRunId: string | null;

  @Column({ type: 'timestamptz', name: 'last_skipped_at', precision: 3, nullable: true })
  lastSkippedAt: Date | null;

  @Column({ type: 'varchar', name: 'last_skip_reason', length: 256, nullable: true })
  lastSkipReason: string | null;

  /** The credential for which the runs act, as `Principal` names it. */
  @Column({ type: 'varchar', name: 'credential_kind', length: 16 })
  credentialKind: CredentialKind;

  @Column({ type: 'varchar', name: 'credential_id', length: 2304 })
  credentialId: string;

  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId: string | null;

  @Column({ type: 'uuid', name: 'grant_id', nullable: true })
  grantId: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
