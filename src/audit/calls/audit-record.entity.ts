import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EntryPoint, AuditStatus } from './audit-record.js';

/** One tool invocation, for reading. `AuditWriter` writes it; it never changes. */
@Entity('audit_records')
export class AuditRecordEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  /** Start of the invocation. */
  @PrimaryColumn({ type: 'timestamptz', precision: 3 })
  at: Date;

  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'varchar', name: 'door', length: 16 })
  entryPoint: EntryPoint;

  @Column({ type: 'uuid', name: 'connection_id', nullable: true })
  connectionId: string | null;

  @Column({ type: 'uuid', name: 'agent_id', nullable: true })
  agentId: string | null;

  @Column({ type: 'varchar', name: 'tool_name', length: 256, collation: 'C' })
  toolName: string;

  @Column({ type: 'varchar', length: 16 })
  status: AuditStatus;

  @Column({ type: 'varchar', name: 'error_code', length: 64, nullable: true })
  errorCode: string | null;

  @Column({ type: 'double precision', name: 'duration_ms' })
  durationMs: number;

  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId: string | null;

  @Column({ type: 'uuid', name: 'run_id', nullable: true })
  runId: string | null;

  @Column({ type: 'varchar', name: 'request_id', length: 128 })
  requestId: string;

  @Column('boolean')
  public: boolean;

  /** Redacted by `contentJson`; null unless the organization records content. The same applies to `result`. */
  @Column({ type: 'jsonb', nullable: true })
  arguments: unknown;

  @Column({ type: 'jsonb', nullable: true })
  result: unknown;
}
