import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** What a person thinks of a thread. */
@Entity('ratings')
@ForeignKey('threads', ['organizationId', 'threadId'], ['organizationId', 'id'], { onDelete: 'CASCADE' })
@Index('ratings_thread_idx', ['organizationId', 'threadId', 'createdAt'])
@Check('ratings_stars_check', 'stars BETWEEN 1 AND 5')
export class RatingEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'varchar', name: 'thread_id', length: 128, update: false })
  threadId: string;

  @Column('integer')
  stars: number;

  /** When the worker reported a rating of one star. */
  @Column({ type: 'timestamptz', name: 'escalated_at', precision: 3, nullable: true })
  escalatedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
