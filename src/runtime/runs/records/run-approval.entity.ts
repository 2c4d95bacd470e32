import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/**
 * How an approval was closed: by somebody's answer, because its time had passed, with the cancellation of its run,
 * because the credential that posted the run is gone, or because the run ended otherwise. Everything but an answer is a
 * denial.
 */
export type ApprovalEnd = 'answered' | 'timed_out' | 'cancelled' | 'poster_gone' | 'ended';

/** A tool call that needs somebody's approval. It is made at most once, after it was approved. */
@Entity('run_approvals')
@Index('run_approvals_call_idx', ['runId', 'toolCallId'], { unique: true })
export class RunApprovalEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'run_id', update: false })
  @ForeignKey('runs', { onDelete: 'CASCADE' })
  runId: string;

  @Column({ type: 'varchar', name: 'tool_call_id', length: 128, update: false })
  toolCallId: string;

  /** The composed name, as the model called it. */
  @Column({ type: 'varchar', name: 'tool_name', length: 64, update: false })
  toolName: string;

  /** The name of the tool at its upstream; null in approvals of earlier versions. */
  @Column({ type: 'text', name: 'upstream_tool', nullable: true, update: false })
  upstreamTool: string | null;

  /** The connection that provides the tool. */
  @Column({ type: 'uuid', name: 'connection_id', update: false })
  connectionId: string;

  /** Digest of what the call reaches (`ToolTarget`); null in approvals of earlier versions. */
  @Column({ type: 'char', name: 'target_place', length: 64, nullable: true, update: false })
  targetPlace: string | null;

  /** Digest of the tool's definition; null while it could not be listed. */
  @Column({ type: 'char', name: 'target_definition', length: 64, nullable: true, update: false })
  targetDefinition: string | null;

  @Column({ type: 'json', update: false })
  input: unknown;

  @Column({ type: 'timestamptz', name: 'requested_at', precision: 3, default: () => 'now()', update: false })
  requestedAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, update: false })
  @Index('run_approvals_expires_idx', { where: 'closed_at IS NULL' })
  expiresAt: Date;

  /** Null while somebody can answer. */
  @Column({ type: 'timestamptz', name: 'closed_at', precision: 3, nullable: true })
  closedAt: Date | null;

  @Column({ type: 'varchar', name: 'closed_as', length: 16, nullable: true })
  closedAs: ApprovalEnd | null;

  @Column({ type: 'boolean', nullable: true })
  approved: boolean | null;

  @Column({ type: 'text', nullable: true })
  reason: string | null;

  /** The person who answered; null for a key of the organization. */
  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId: string | null;

  /**
   * When the approved call was made. An attempt records it before the call, so that no other attempt repeats the call.
   */
  @Column({ type: 'timestamptz', name: 'called_at', precision: 3, nullable: true })
  calledAt: Date | null;
}
