import { Entity, PrimaryColumn, Column } from 'typeorm';
import type { SpendLimit } from '../../core/limits.js';

export const PERSON_STATUSES = ['active', 'invited'] as const;

/** A member or an open invitation of an organization. A view of the database, defined by a migration. */
@Entity('organization_people', { synchronize: false })
export class OrganizationPersonEntity {
  /** Of the membership or of the invitation. */
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column('varchar')
  email: string;

  @Column({ type: 'varchar', nullable: true })
  name: string | null;

  @Column('varchar')
  role: string;

  @Column('varchar')
  status: (typeof PERSON_STATUSES)[number];

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;

  /** Null without a limit, and for an invitation. */
  @Column({ type: 'jsonb', nullable: true })
  spend: SpendLimit | null;
}
