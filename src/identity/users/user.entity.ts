import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';

@Entity('users')
export class UserEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'varchar', length: 128 })
  name: string;

  /** Unique, whatever its case. */
  @Column({ type: 'varchar', length: 254, nullable: true })
  email: string | null;

  /** Set by a mailed link or an issuer only. */
  @Column({ type: 'timestamptz', name: 'email_verified_at', precision: 3, nullable: true })
  emailVerifiedAt: Date | null;

  /** Argon2id, in PHC string format; null for a person who signs in with an issuer only. */
  @Column({ type: 'varchar', name: 'password_hash', length: 256, nullable: true, select: false })
  passwordHash: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt: Date;
}
