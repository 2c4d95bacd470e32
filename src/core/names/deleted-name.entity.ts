import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The last name of a deleted API key or connection, or the e-mail address of a deleted user. Written by triggers. */
@Entity('deleted_names')
export class DeletedNameEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'varchar', length: 256 })
  name: string;

  @Column({ type: 'timestamptz', name: 'deleted_at', precision: 3, default: () => 'now()' })
  @Index('deleted_names_deleted_idx')
  deletedAt: Date;
}
