import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/**
 * One sign-in of a member with a client: everything that was issued for it dies with it, and it dies with the
 * membership.
 */
@Entity('oauth_grants')
@ForeignKey('members', ['organizationId', 'userId'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
@Index('oauth_grants_member_idx', ['organizationId', 'userId'])
@Index('oauth_grants_client_idx', ['userId', 'clientId'])
export class OauthGrantEntity {
  /** Derived from the grant's value in the authorization server (`recordId`). */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'uuid', name: 'user_id', update: false })
  userId: string;

  @Column({ type: 'varchar', name: 'client_id', length: 2048, update: false })
  clientId: string;

  @Column({ type: 'varchar', name: 'client_name', length: 256, update: false })
  clientName: string;

  /** The path of the resource, such as `/api/acme/mcp/<connectionId>`. */
  @Column({ type: 'varchar', length: 2048, update: false })
  resource: string;

  @Column({ type: 'varchar', length: 256, update: false })
  scope: string;

  /** Whether the consent also counts for later sign-ins with this client. */
  @Column({ type: 'boolean', name: 'is_remembered', update: false })
  isRemembered: boolean;

  @Column({ type: 'timestamptz', name: 'last_used_at', precision: 3, nullable: true })
  lastUsedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
