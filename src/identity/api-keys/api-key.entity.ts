import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { KeyRateLimit, SpendLimit } from '../../core/limits.js';
import type { PermissionMap } from '../../core/permissions.js';

@Entity('api_keys')
@Index('api_keys_organization_idx', ['organizationId', 'createdAt'])
// The keys of a person end with the membership.
@Index('api_keys_member_idx', ['organizationId', 'userId'])
@Index('api_keys_spend_idx', ['organizationId'], { where: 'spend IS NOT NULL' })
@ForeignKey('members', ['organizationId', 'userId'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
export class ApiKeyEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** The person who made the key, and beyond whose permissions it never reaches; null for a key of the organization. */
  @Column({ type: 'uuid', name: 'user_id', nullable: true, update: false })
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string | null;

  @Column({ type: 'varchar', length: 64 })
  name: string;

  @Column({ type: 'char', name: 'key_prefix', length: 12, update: false })
  keyPrefix: string;

  @Column({ type: 'char', name: 'key_hash', length: 64, unique: true, update: false })
  keyHash: string;

  @Column('jsonb')
  permissions: PermissionMap;

  /** The OAuth grant with whose token the key was made, and with which it ends. */
  @Column({ type: 'uuid', name: 'grant_id', nullable: true, update: false })
  @ForeignKey('oauth_grants', { onDelete: 'CASCADE' })
  @Index('api_keys_grant_idx', { where: 'grant_id IS NOT NULL' })
  grantId: string | null;

  /** The key that made it, and with which it is deleted; null if a person or the service did. */
  @Column({ type: 'uuid', name: 'maker_key_id', nullable: true })
  @ForeignKey('api_keys', { onDelete: 'CASCADE' })
  @Index('api_keys_maker_idx', { where: 'maker_key_id IS NOT NULL' })
  makerKeyId: string | null;

  /**
   * The deleted key whose quota it goes on using, with all others that this one has left behind; null: its own quota.
   */
  @Column({ type: 'uuid', name: 'quota_key_id', nullable: true })
  quotaKeyId: string | null;

  /** The path of the only resource that the key opens (`Principal.resource`); null: no limit. */
  @Column({ type: 'varchar', length: 2048, nullable: true, update: false })
  resource: string | null;

  /** The OAuth scopes beyond which the key does not reach, separated by spaces; null: no limit. */
  @Column({ type: 'varchar', length: 256, nullable: true, update: false })
  scope: string | null;

  /** Of the key's HTTP requests; null: no limit. */
  @Column({ type: 'jsonb', name: 'rate_limit', nullable: true })
  rateLimit: KeyRateLimit | null;

  /** Of the model calls of its runs, and of those of the keys that it made; null: no limit. */
  @Column({ type: 'jsonb', nullable: true })
  spend: SpendLimit | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'last_used_at', precision: 3, nullable: true })
  lastUsedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
