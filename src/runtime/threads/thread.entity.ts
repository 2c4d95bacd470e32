import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';

export const THREAD_STATUSES = ['in_progress', 'completed', 'failed'] as const;
export type ThreadStatus = (typeof THREAD_STATUSES)[number];

@Entity('threads')
@Index('threads_created_idx', ['organizationId', 'createdAt'])
@Index('threads_transient_idx', ['createdAt'], { where: 'is_transient' })
// A GIN index of the pairs, which TypeORM cannot describe.
@Index('threads_metadata_idx', { synchronize: false })
@Check('threads_status_check', "status IN ('in_progress', 'completed', 'failed')")
export class ThreadEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** Unique only within its organization, because callers can choose it. */
  @PrimaryColumn({ type: 'varchar', length: 128, collation: 'C' })
  id: string;

  @Column({ type: 'varchar', length: 256 })
  title: string;

  /** The agent that the thread belongs to. */
  @Column({ type: 'uuid', name: 'virtual_mcp_id', update: false })
  virtualMcpId: string;

  @Column({ type: 'varchar', length: 16 })
  status: ThreadStatus;

  /** The caller's own pairs. */
  @Column({ type: 'jsonb', default: {} })
  metadata: Record<string, string>;

  /** Null for a key of the organization. */
  @Column({ type: 'uuid', name: 'created_by', nullable: true, update: false })
  createdBy: string | null;

  /** It is deleted when its run is over. */
  @Column({ type: 'boolean', name: 'is_transient', default: false, update: false })
  isTransient: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
