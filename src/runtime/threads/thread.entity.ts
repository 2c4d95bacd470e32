import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import { BIGINT_AS_NUMBER } from '../../platform/database/bigint-as-number.js';

export const THREAD_STATUSES = ['in_progress', 'completed', 'failed'] as const;
export type ThreadStatus = (typeof THREAD_STATUSES)[number];

/** A number that only the database adds to. */
const SUM = { type: 'bigint', default: 0, insert: false, update: false, transformer: BIGINT_AS_NUMBER } as const;

@Entity('threads')
@Index('threads_created_idx', ['organizationId', 'createdAt'])
@Index('threads_transient_idx', ['createdAt'], { where: 'is_transient' })
// A GIN index of the pairs, which TypeORM cannot describe.
@Index('threads_metadata_idx', { synchronize: false })
// A GIN index of the words of titles, see `text_words`.
@Index('threads_words_idx', { synchronize: false })
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

  /** What its ended runs have called and used, added up by `run_finish`. A copied thread has no runs. */
  @Column({ type: 'text', array: true, default: [], insert: false, update: false })
  tools: string[];

  /** Null if no model call had a price. */
  @Column({ type: 'double precision', name: 'cost_usd', nullable: true, insert: false, update: false })
  costUsd: number | null;

  @Column({ ...SUM, name: 'total_tokens' })
  totalTokens: number;

  @Column({ ...SUM, name: 'duration_ms' })
  durationMs: number;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}

/** A thread as it is made. The database adds the rest. */
export type NewThread = Omit<
  ThreadEntity,
  'createdAt' | 'updatedAt' | 'tools' | 'costUsd' | 'totalTokens' | 'durationMs'
>;
