import { Column, CreateDateColumn, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** A user's membership in an organization. The role is `owner`, `admin`, `member` or the name of a custom role. */
@Entity('members')
export class MemberEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id' })
  @ForeignKey('organizations', { onDelete: 'CASCADE' })
  organizationId: string;

  @PrimaryColumn({ type: 'uuid', name: 'user_id' })
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string;

  @Column({ type: 'varchar', length: 64 })
  role: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
