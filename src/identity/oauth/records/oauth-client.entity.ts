import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** How a client that was set up by hand proves who it is: not at all, with a secret, or with its own keys. */
export const CLIENT_AUTHS = ['none', 'secret', 'jwks'] as const;
export type ClientAuth = (typeof CLIENT_AUTHS)[number];

/** A client that an organization set up by hand. Its metadata is a record of the model `Client`. */
@Entity('oauth_clients')
@Index('oauth_clients_organization_idx', ['organizationId', 'createdAt'])
export class OauthClientEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @Column({ type: 'varchar', name: 'client_id', length: 64, unique: true, update: false })
  clientId: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  @Column({ type: 'jsonb', name: 'redirect_uris' })
  redirectUris: readonly string[];

  @Column({ type: 'jsonb', name: 'grant_types', default: ['authorization_code', 'refresh_token'], update: false })
  grantTypes: readonly string[];

  @Column({ type: 'varchar', length: 8, default: 'none', update: false })
  auth: ClientAuth;

  /**
   * The API key with whose rights the client acts for itself, and with which it ends; null if it acts for people only.
   */
  @Column({ type: 'uuid', name: 'api_key_id', nullable: true, update: false })
  @ForeignKey('api_keys', { onDelete: 'CASCADE' })
  @Index('oauth_clients_key_idx', { where: 'api_key_id IS NOT NULL' })
  apiKeyId: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
