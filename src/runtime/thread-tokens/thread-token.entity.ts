import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { CredentialKind, ThreadPermission } from '../../core/principal.js';

/** A browser token. It acts for the credential that made it, on one thread. */
@Entity('thread_tokens')
@ForeignKey('threads', ['organizationId', 'threadId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
@Index('thread_tokens_thread_idx', ['organizationId', 'threadId'])
export class ThreadTokenEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'varchar', name: 'thread_id', length: 128, collation: 'C', update: false })
  threadId: string;

  @Column({ type: 'char', name: 'token_hash', length: 64, unique: true, update: false })
  tokenHash: string;

  @Column({ type: 'jsonb', update: false })
  permissions: ThreadPermission[];

  /** The credential that made the token, as `Principal` names it. The token dies with it. */
  @Column({ type: 'varchar', name: 'maker_kind', length: 16, update: false })
  makerKind: CredentialKind;

  @Column({ type: 'varchar', name: 'maker_id', length: 512, update: false })
  makerId: string;

  /** `Principal.callerId` of the maker, whose quotas the token uses. */
  @Column({ type: 'varchar', name: 'caller_id', length: 2304, update: false })
  callerId: string;

  @Column({ type: 'uuid', name: 'user_id', nullable: true, update: false })
  @Index('thread_tokens_user_idx')
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true, update: false })
  @Index('thread_tokens_key_idx')
  @ForeignKey('api_keys', { onDelete: 'CASCADE' })
  apiKeyId: string | null;

  @Column({ type: 'uuid', name: 'grant_id', nullable: true, update: false })
  grantId: string | null;

  @Column({ type: 'varchar', name: 'client_id', length: 2048, nullable: true, update: false })
  clientId: string | null;

  /** The limits of the maker's own token: what it does not open, tokens that it makes do not open either. */
  @Column({ type: 'varchar', length: 2048, nullable: true, update: false })
  resource: string | null;

  @Column({ type: 'jsonb', nullable: true, update: false })
  scopes: string[] | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, update: false })
  @Index('thread_tokens_expires_idx')
  expiresAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
