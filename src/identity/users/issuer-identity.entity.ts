import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A person as an OpenID issuer knows them: the `sub` of an issuer identifies an account for good. */
@Entity('issuer_identities')
export class IssuerIdentityEntity {
  @PrimaryColumn({ type: 'varchar', length: 512 })
  issuer: string;

  /** At most 255 characters (OpenID Connect Core §2). */
  @PrimaryColumn({ type: 'varchar', length: 255 })
  subject: string;

  @Column({ type: 'uuid', name: 'user_id', update: false })
  @Index('issuer_identities_user_idx')
  @ForeignKey('users', { onDelete: 'CASCADE' })
  userId: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
