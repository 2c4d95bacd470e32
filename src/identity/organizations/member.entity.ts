import {
  Column,
  CreateDateColumn,
  Entity,
  ForeignKey,
  Generated,
  Index,
  PrimaryColumn,
  UpdateDateColumn,
} from 'typeorm';
import type { SpendLimit } from '../../core/limits.js';

/** A user's membership in an organization. The role is `owner`, `admin`, `member` or the name of a custom role. */
@Entity('members')
@Index('members_spend_idx', ['organizationId'], { where: 'spend IS NOT NULL' })
export class MemberEntity {
  @Column({ type: 'uuid', unique: true, update: false })
  @Generated('uuid')
  id: string;

  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @PrimaryColumn({ type: 'uuid', name: 'user_id' })
  @Index('members_user_idx')
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string;

  @Column({ type: 'varchar', length: 64 })
  role: string;

  /** Of the model calls of the person's runs in the organization; null: no limit. */
  @Column({ type: 'jsonb', nullable: true })
  spend: SpendLimit | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
