import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A run that a client of the legacy era has started as a task. */
@Entity('asked_tasks')
@Index('asked_tasks_owner_idx', ['agentId', 'owner', 'runId'])
export class AskedTaskEntity {
  @PrimaryColumn({ type: 'uuid', name: 'run_id' })
  @ForeignKey('runs', { onDelete: 'CASCADE' })
  runId: string;

  @Column({ type: 'uuid', name: 'agent_id' })
  agentId: string;

  /** The principal, as text. */
  @Column('text')
  owner: string;

  /** The id of the task as the client has got it (`SealedTaskIds`), which is valid as long as its key is known. */
  @Column('text')
  handle: string;
}
