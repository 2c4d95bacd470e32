import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import { LinkMaker } from './links.js';

/** An invitation to join an organization. Its link can be used once, until it expires. */
@Entity('invitations')
// On lower(email), which TypeORM cannot express.
@Index('invitations_email_idx', { synchronize: false })
@Index('invitations_maker_idx', ['organizationId', 'madeBy'])
@Index('invitations_maker_key_idx', ['makerKeyId'], { where: 'maker_key_id IS NOT NULL' })
@Index('invitations_grant_idx', ['grantId'], { where: 'grant_id IS NOT NULL' })
@ForeignKey('members', ['organizationId', 'madeBy'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
export class InvitationEntity extends LinkMaker {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  /** Unique within the organization, whatever its case. */
  @Column({ type: 'varchar', length: 254, update: false })
  email: string;

  @Column({ type: 'varchar', length: 64 })
  role: string;

  @Column({ type: 'char', name: 'token_hash', length: 64, unique: true })
  tokenHash: string;

  /** Of the link that only the owner of the address has received. */
  @Column({ type: 'char', name: 'mailed_hash', length: 64, unique: true, nullable: true })
  mailedHash: string | null;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt: Date;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
