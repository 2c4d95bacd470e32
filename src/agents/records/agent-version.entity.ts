import { Column, CreateDateColumn, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** What an agent was from one change to the next. */
@Entity('agent_versions')
export class AgentVersionEntity {
  @PrimaryColumn({ type: 'uuid', name: 'agent_id' })
  @ForeignKey('agents', { onDelete: 'CASCADE' })
  agentId: string;

  /** Counts from 1 for each agent. */
  @PrimaryColumn('integer')
  number: number;

  /** `json` keeps the text, and with it the order of the members of output schemas. */
  @Column('json')
  content: object;

  /** Null if the change was found later: it was not made to the agent itself. */
  @Column({ type: 'uuid', name: 'user_id', nullable: true })
  userId: string | null;

  @Column({ type: 'uuid', name: 'api_key_id', nullable: true })
  apiKeyId: string | null;

  /** The number of the version whose content this one has again. */
  @Column('integer', { name: 'restored_from', nullable: true })
  restoredFrom: number | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt: Date;
}
