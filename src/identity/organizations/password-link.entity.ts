import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { LinkMaker } from './links.js';

/**
 * A link that sets a password once: of a member, of the owner whom an organization does not have yet, or of anybody, if
 * the operator made it.
 */
@Entity('password_links')
@Index('password_links_user_idx', ['userId'])
@Index('password_links_member_idx', ['organizationId', 'userId'])
@ForeignKey('members', ['organizationId', 'userId'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
@Index('password_links_maker_idx', ['organizationId', 'madeBy'])
@Index('password_links_maker_key_idx', ['makerKeyId'], { where: 'maker_key_id IS NOT NULL' })
@Index('password_links_grant_idx', ['grantId'], { where: 'grant_id IS NOT NULL' })
@ForeignKey('members', ['organizationId', 'madeBy'], ['organizationId', 'userId'], { onDelete: 'CASCADE' })
export class PasswordLinkEntity extends LinkMaker {
  /** SHA-256 of the token in the link, in hex. */
  @PrimaryColumn({ type: 'char', name: 'token_hash', length: 64 })
  tokenHash: string;

  /** Null for a link that the operator made for one person, whatever the organizations. */
  @Column({ type: 'uuid', name: 'organization_id', nullable: true, update: false })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string | null;

  /** Null for the link to the setup page. */
  @Column({ type: 'uuid', name: 'user_id', nullable: true, update: false })
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string | null;

  /** Whether only the owner of the address has received the link. */
  @Column({ type: 'boolean', name: 'is_mailed', default: false, update: false })
  isMailed: boolean;

  /** Null for a link that works until it is used. */
  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true, update: false })
  expiresAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
