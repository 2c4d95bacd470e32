import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, Unique, UpdateDateColumn } from 'typeorm';

/**
 * An account at an upstream: that of the connection, or that of one member. Ends with the connection, the membership,
 * and the ID token that it was issued for.
 */
@Entity('upstream_authorizations')
@Unique(['connectionId', 'userId'])
@Index('upstream_authorizations_member_idx', ['organizationId', 'userId'])
@ForeignKey('connections', ['organizationId', 'connectionId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
@ForeignKey('members', ['organizationId', 'userId'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
export class UpstreamAuthorizationEntity {
  /** A new one with each log-in. */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'connection_id' })
  connectionId: string;

  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  /** The ID token that the tokens were issued for; null for those of a log-in. */
  @Column({ type: 'uuid', name: 'id_token_id', nullable: true })
  @ForeignKey('id_tokens', { onDelete: 'CASCADE' })
  @Index('upstream_authorizations_id_token_idx', { where: 'id_token_id IS NOT NULL' })
  idTokenId: string | null;

  /** The URL that the tokens are sent to; they are void once the connection has another one. */
  @Column({ type: 'varchar', name: 'connection_url', length: 2048 })
  connectionUrl: string;

  /** `AccountTokens` as JSON text, sealed by the vault. */
  @Column('text')
  tokens: string;

  /** When the access token is to be refreshed; null for one whose lifetime is unknown. */
  @Column({ type: 'timestamptz', name: 'refresh_at', precision: 3, nullable: true })
  refreshAt: Date | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt: Date | null;

  /** Of the process that refreshes the tokens. */
  @Column({ type: 'uuid', name: 'refresh_lease', nullable: true })
  refreshLease: string | null;

  @Column({ type: 'timestamptz', name: 'refresh_lease_until', precision: 3, nullable: true })
  refreshLeaseUntil: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
