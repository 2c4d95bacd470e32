import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalRule, SelectedTool } from './agent.js';

/** A connection's place in an agent. The connection can itself be an agent. */
@Entity('agent_connections')
export class AgentConnectionEntity {
  @PrimaryColumn({ type: 'uuid', name: 'agent_id' })
  @ForeignKey('agents', { onDelete: 'CASCADE' })
  agentId: string;

  @PrimaryColumn({ type: 'uuid', name: 'connection_id' })
  @ForeignKey('connections', { onDelete: 'CASCADE' })
  @Index('agent_connections_connection_idx')
  connectionId: string;

  @Column('integer')
  position: number;

  /** Null selects all tools of the connection. */
  @Column({ type: 'jsonb', name: 'selected_tools', nullable: true })
  selectedTools: SelectedTool[] | null;

  @Column({ type: 'varchar', length: 32, nullable: true })
  prefix: string | null;

  /** Which calls of its tools need an approval. */
  @Column({ type: 'jsonb', default: 'none' })
  approval: ApprovalRule;
}
