import { Column, CreateDateColumn, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/**
 * The ID token of a sign-in with the issuer, for calls to upstreams that take its assertions. Ends with the browser
 * session of that sign-in, with all that was issued for it.
 */
@Entity('id_tokens')
export class IdTokenEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'session_id', unique: true, update: false })
  @ForeignKey('browser_sessions', { onDelete: 'CASCADE' })
  sessionId: string;

  /** `OIDC_ISSUER` at the sign-in. */
  @Column({ type: 'varchar', length: 2048, update: false })
  issuer: string;

  /** `IssuedTokens` as JSON text, sealed by the vault. */
  @Column('text')
  tokens: string;

  /** When the ID token ends. */
  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt: Date;

  @Column({ name: 'is_refreshable', type: 'boolean' })
  isRefreshable: boolean;

  /** Of the process that gets another ID token. */
  @Column({ type: 'timestamptz', name: 'refresh_lease_until', precision: 3, nullable: true })
  refreshLeaseUntil: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
