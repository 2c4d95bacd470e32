import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import type { AgentConnection, RunnableAgent } from './agent.js';
import { AgentConnectionEntity } from './agent-connection.entity.js';
import { AgentEntity } from './agent.entity.js';

/** Class of the advisory locks that serialize edits of compositions, one per organization; spells "AGNT". */
const COMPOSITION_LOCK = 0x41474e54;

/** An agent's own half, with its connections in their order. */
export interface StoredAgent extends Omit<AgentEntity, 'organizationId'> {
  readonly connections: readonly AgentConnection[];
}

/** Writes take part in the transaction of the given manager. */
@Injectable()
export class AgentRepository {
  constructor(
    @InjectRepository(AgentEntity) private readonly agents: Repository<AgentEntity>,
    @InjectRepository(AgentConnectionEntity) private readonly members: Repository<AgentConnectionEntity>,
  ) {}

  /** Those of the agents that exist, by id. */
  async findAll(ids: readonly string[]): Promise<ReadonlyMap<string, StoredAgent>> {
    const [agents, members] = await Promise.all([
      this.agents.findBy({ id: In(ids) }),
      this.members.find({ where: { agentId: In(ids) }, order: { position: 'ASC' } }),
    ]);
    const byAgent = Map.groupBy(members, ({ agentId }) => agentId);
    return new Map(agents.map((agent) => [agent.id, { ...agent, connections: byAgent.get(agent.id) ?? [] }]));
  }

  /** An agent with its connections in their order: one round trip, because every run request and every attempt asks. */
  async findRunnable(organizationId: string, id: string): Promise<RunnableAgent | undefined> {
    const rows: RunnableAgent[] = await this.agents.query(
      `SELECT connection.id, connection.title, connection.status, agent.instructions, agent.tier, agent.max_steps AS "maxSteps",
              (SELECT coalesce(json_agg(json_build_object('connectionId', member.connection_id,
                        'selectedTools', member.selected_tools, 'prefix', member.prefix) ORDER BY member.position), '[]')
                 FROM agent_connections member WHERE member.agent_id = agent.id) AS connections
         FROM connections connection JOIN agents agent ON agent.id = connection.id
        WHERE connection.organization_id = $1 AND connection.id = $2`,
      [organizationId, id],
    );
    return rows[0];
  }

  async insert(manager: EntityManager, agent: AgentEntity): Promise<void> {
    await manager.insert(AgentEntity, agent);
  }

  /** Writes what is not undefined. */
  async update(
    manager: EntityManager,
    id: string,
    settings: Partial<Pick<AgentEntity, 'instructions' | 'tier' | 'maxSteps'>>,
  ): Promise<void> {
    if (Object.values(settings).every((value) => value === undefined)) return;
    await manager.update(AgentEntity, { id }, settings);
  }

  /** Until the transaction ends, nobody else in the organization changes what its agents are composed of. */
  async lockCompositions(manager: EntityManager, organizationId: string): Promise<void> {
    await manager.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [COMPOSITION_LOCK, organizationId]);
  }

  /** Does the agent hold itself, directly or through other agents? Only certain under `lockCompositions`. */
  async reachesItself(manager: EntityManager, id: string): Promise<boolean> {
    const rows: unknown[] = await manager.query(
      `WITH RECURSIVE reached (id) AS (
         SELECT connection_id FROM agent_connections WHERE agent_id = $1
         UNION
         SELECT member.connection_id FROM agent_connections member JOIN reached ON member.agent_id = reached.id
       )
       SELECT 1 FROM reached WHERE id = $1`,
      [id],
    );
    return rows.length > 0;
  }

  async replaceConnections(
    manager: EntityManager,
    agentId: string,
    connections: readonly AgentConnection[],
  ): Promise<void> {
    await manager.delete(AgentConnectionEntity, { agentId });
    const rows = connections.map(({ connectionId, selectedTools, prefix }, position) => ({
      agentId,
      connectionId,
      position,
      selectedTools: selectedTools === null ? null : [...selectedTools],
      prefix,
    }));
    if (rows.length > 0) await manager.insert(AgentConnectionEntity, rows);
  }
}
