import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A `requestState` that was used, by the id in it. */
@Entity('used_sign_ins')
@Index('used_sign_ins_expiry_idx', ['expiresAt'])
export class UsedSignInEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}
