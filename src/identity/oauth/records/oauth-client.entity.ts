import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

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

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
