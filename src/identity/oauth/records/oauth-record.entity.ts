import { Column, CreateDateColumn, Entity, Index, PrimaryColumn } from 'typeorm';

/** What the authorization server stores for one of its models: a token, a code, a session, an interaction, a client. */
@Entity('oauth_records')
@Index('oauth_records_source_idx', ['source', 'createdAt'], { where: 'source IS NOT NULL' })
export class OauthRecordEntity {
  /** Derived from the model and its value (`recordId`). */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'varchar', length: 32, update: false })
  model: string;

  /** The model's payload as JSON, in a vault envelope. */
  @Column({ type: 'text' })
  payload: string;

  @Column({ type: 'uuid', name: 'grant_id', nullable: true })
  @Index('oauth_records_grant_idx', { where: 'grant_id IS NOT NULL' })
  grantId: string | null;

  /** Derived from the `uid` of a session. */
  @Column({ type: 'uuid', name: 'uid_id', nullable: true })
  @Index('oauth_records_uid_idx', { where: 'uid_id IS NOT NULL' })
  uidId: string | null;

  @Column({ type: 'varchar', name: 'client_id', length: 2048, nullable: true })
  clientId: string | null;

  /** The network from which a client was registered, or a sign-in began (`networkOf`). */
  @Column({ type: 'varchar', length: 64, nullable: true })
  source: string | null;

  /** The scopes of a token. */
  @Column({ type: 'varchar', length: 256, nullable: true })
  scope: string | null;

  /** The path of the resource of a client's own token. */
  @Column({ type: 'varchar', length: 2048, nullable: true, update: false })
  resource: string | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  @Index('oauth_records_expiry_idx', { where: 'expires_at IS NOT NULL' })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'consumed_at', precision: 3, nullable: true })
  consumedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
