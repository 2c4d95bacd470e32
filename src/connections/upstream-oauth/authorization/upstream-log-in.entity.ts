import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A log-in at an upstream's authorization server that a person has begun. It is removed when its answer arrives. */
@Entity('upstream_log_ins')
@Index('upstream_log_ins_connection_idx', ['connectionId'])
export class UpstreamLogInEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256 of `state`. */
  @Column({ type: 'char', name: 'state_hash', length: 64, unique: true })
  stateHash: string;

  /** SHA-256 of the browser session that began it; only that one can end it. */
  @Column({ type: 'char', name: 'session_hash', length: 64 })
  sessionHash: string;

  @Column({ type: 'uuid', name: 'connection_id' })
  @ForeignKey('connections', { onDelete: 'CASCADE' })
  connectionId: string;

  /** The person who began it. */
  @Column({ type: 'uuid', name: 'user_id' })
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string;

  /** `LogInDetails` as JSON text, sealed by the vault. */
  @Column('text')
  details: string;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  @Index('upstream_log_ins_expires_idx')
  expiresAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
