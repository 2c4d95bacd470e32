import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A signed-in browser. */
@Entity('browser_sessions')
export class BrowserSessionEntity {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256 of the cookie, in hex. */
  @Column({ type: 'char', name: 'secret_hash', length: 64, unique: true, update: false })
  secretHash: string;

  @Column({ type: 'uuid', name: 'user_id', update: false })
  @Index('browser_sessions_user_idx')
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  /** With a resolution of minutes. */
  @Column({ type: 'timestamptz', name: 'last_seen_at', precision: 3 })
  lastSeenAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, update: false })
  expiresAt: Date;
}
