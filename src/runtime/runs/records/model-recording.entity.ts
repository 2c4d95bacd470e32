import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** What was sent to a model and answered in one call of a run. */
@Entity('model_recordings')
@Index('model_recordings_call_idx', ['runId', 'attempt', 'ordinal'], { unique: true })
@Index('model_recordings_created_idx', ['organizationId', 'createdAt'])
export class ModelRecordingEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'run_id', update: false })
  @ForeignKey('runs', { onDelete: 'CASCADE' })
  runId: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'int', update: false })
  attempt: number;

  /** The place of the call among those of the attempt, from 1. */
  @Column({ type: 'int', update: false })
  ordinal: number;

  /** A `RecordedCall` as JSON, in an envelope of the vault. */
  @Column({ type: 'text', update: false })
  content: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
