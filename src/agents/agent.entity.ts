import { Column, Entity, PrimaryColumn } from 'typeorm';
import { type AgentTier, DEFAULT_MAX_STEPS } from './agent.js';

/** What an agent is beyond the connection of type VIRTUAL that has the same id, its title and its status. */
@Entity('agents')
export class AgentEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'uuid', name: 'organization_id', update: false })
  organizationId: string;

  @Column({ type: 'text', nullable: true })
  instructions: string | null;

  @Column({ type: 'varchar', length: 16, nullable: true })
  tier: AgentTier | null;

  @Column('integer', { name: 'max_steps', default: DEFAULT_MAX_STEPS })
  maxSteps: number;
}
