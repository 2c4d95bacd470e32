import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, type QueryDeepPartialEntity, Repository } from 'typeorm';
import type { SqlClause } from '../../core/paging/where-clause.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import type { AgentConnection, ApprovalRule, RunnableAgent } from './agent.js';
import type { NestedSelection } from './selection-rights.js';
import { AgentConnectionEntity } from './agent-connection.entity.js';
import { AgentEntity } from './agent.entity.js';
import { slugTaken } from './agent-slug.js';

/** Class of the advisory locks that serialize edits of compositions, one per organization; spells "AGNT". */
const COMPOSITION_LOCK = 0x41474e54;

/** SQL for the bytes that `findAll` reads of the agent whose id is `connection.id`. */
export const AGENT_BYTES = `
  coalesce((SELECT coalesce(octet_length(agent.instructions), 0) + json_octets(agent.pinned_tools)
                     + coalesce(octet_length(agent.output_schema::text), 0)
              FROM agents agent WHERE agent.id = connection.id), 0)
    + coalesce((SELECT sum(100 + json_octets(member.selected_tools) + json_octets(member.approval))
                  FROM agent_connections member WHERE member.agent_id = connection.id), 0)`;

/** Selects the agents that use a connection, as `connection.id`. */
export function usesConnection(id: string): SqlClause {
  return {
    sql: `EXISTS (SELECT FROM agent_connections member WHERE member.agent_id = connection.id
        AND member.connection_id = :used)`,
    parameters: { used: id },
  };
}

/** An agent's settings, with its connections in their order. */
export interface StoredAgent extends Omit<AgentEntity, 'organizationId'> {
  readonly connections: readonly AgentConnection[];
  /** How many tools it selects: by name, and of the connections whose tools it selects all, those last listed. */
  readonly toolCount: number;
}

/** What a picture of the organization shows of an agent's use of a connection or agent. */
export interface MemberOutline {
  readonly agentId: string;
  readonly connectionId: string;
  /** How many tools are selected; null for all of them. */
  readonly toolCount: number | null;
  /** `some`: for calls of the tools in a list. */
  readonly approval: Exclude<ApprovalRule, readonly string[]> | 'some';
}

// An agent inside has no tools of its own. UNION drops what is reached on several ways, so that the search stays small:
// an agent that two agents inside contain counts once, a connection that both contain counts twice.
const TOOL_COUNTS = `
  WITH RECURSIVE parts (agent_id, owner_id, connection_id, selected) AS (
    SELECT agent_id, agent_id, connection_id, jsonb_array_length(selected_tools)
      FROM agent_connections WHERE agent_id = ANY($1::uuid[])
    UNION
    SELECT parts.agent_id, member.agent_id, member.connection_id, jsonb_array_length(member.selected_tools)
      FROM parts JOIN agent_connections member ON member.agent_id = parts.connection_id
     WHERE parts.selected IS NULL
  )
  SELECT parts.agent_id AS id, sum(coalesce(parts.selected, connection.tool_count, 0))::integer AS count
    FROM parts JOIN connections connection ON connection.id = parts.connection_id
   GROUP BY parts.agent_id`;

const SELECT_RUNNABLE = `
    SELECT connection.id, connection.title, connection.description, connection.status, agent.instructions, agent.tier,
           agent.max_steps AS "maxSteps", agent.approval_timeout AS "approvalTimeoutS",
           agent.tool_mode AS "toolMode", agent.pinned_tools AS "pinnedTools",
           agent.output_schema::text AS "outputSchema", agent.expose_run AS "exposeRun",
           agent.ask_timeout_s AS "askTimeoutS",
           (SELECT model_recording FROM organizations WHERE id = $1) AS "modelRecording",
           (SELECT coalesce(json_agg(json_build_object('connectionId', member.connection_id,
                     'selectedTools', member.selected_tools, 'prefix', member.prefix, 'approval', member.approval)
                       ORDER BY member.position), '[]')
              FROM agent_connections member WHERE member.agent_id = agent.id) AS connections
      FROM connections connection JOIN agents agent ON agent.id = connection.id
     WHERE connection.organization_id = $1`;

/** Values: organization, ids. */
const RUNNABLE = { name: 'agents_runnable', text: `${SELECT_RUNNABLE} AND connection.id = ANY($2)` };

/** Values: organization, slug. */
const RUNNABLE_BY_SLUG = {
  name: 'agents_runnable_by_slug',
  text: `${SELECT_RUNNABLE} AND agent.organization_id = $1 AND agent.slug = $2`,
};

const SLUG_INDEX = 'agents_slug_idx';

/** Writes take part in the transaction of the given manager. */
@Injectable()
export class AgentRepository {
  constructor(
    @InjectRepository(AgentEntity) private readonly agents: Repository<AgentEntity>,
    private readonly statements: PreparedStatements,
  ) {}

  /** The existing agents among these ids, by id. */
  async findAll(ids: readonly string[]): Promise<ReadonlyMap<string, StoredAgent>> {
    const { manager } = this.agents;
    const [agents, members, counts] = await Promise.all([
      this.agents.findBy({ id: In(ids) }),
      manager.find(AgentConnectionEntity, { where: { agentId: In(ids) }, order: { position: 'ASC' } }),
      manager.query<{ id: string; count: number }[]>(TOOL_COUNTS, [ids]),
    ]);
    const byAgent = Map.groupBy(members, ({ agentId }) => agentId);
    const countOf = new Map(counts.map(({ id, count }) => [id, count]));
    return new Map(
      agents.map((agent) => [
        agent.id,
        { ...agent, connections: byAgent.get(agent.id) ?? [], toolCount: countOf.get(agent.id) ?? 0 },
      ]),
    );
  }

  /**
   * An agent with its connections in their order. One round trip, because every run request and every attempt reads it.
   */
  async findRunnable(organizationId: string, id: string): Promise<RunnableAgent | undefined> {
    const [agent] = await this.findAllRunnable(organizationId, [id]);
    return agent;
  }

  /** The same for several agents, in no particular order. */
  findAllRunnable(organizationId: string, ids: readonly string[]): Promise<RunnableAgent[]> {
    return this.statements.rowsByKey<RunnableAgent>(RUNNABLE, [organizationId, ids]);
  }

  async findRunnableBySlug(organizationId: string, slug: string): Promise<RunnableAgent | undefined> {
    const [agent] = await this.statements.rowsByKey<RunnableAgent>(RUNNABLE_BY_SLUG, [organizationId, slug]);
    return agent;
  }

  /** Which connections and agents the organization's agents use, in their order, without the selected tools. */
  findMemberOutlines(organizationId: string): Promise<MemberOutline[]> {
    return this.agents.query(
      `SELECT member.agent_id AS "agentId", member.connection_id AS "connectionId",
              CASE jsonb_typeof(member.selected_tools) WHEN 'array' THEN jsonb_array_length(member.selected_tools)
                END AS "toolCount",
              CASE jsonb_typeof(member.approval) WHEN 'string' THEN member.approval #>> '{}' ELSE 'some' END AS approval
         FROM agent_connections member JOIN agents agent ON agent.id = member.agent_id
        WHERE agent.organization_id = $1
        ORDER BY member.agent_id, member.position`,
      [organizationId],
    );
  }

  /** The agents of the organization that contain the connection, directly or through other agents: at most `max`. */
  async findContaining(organizationId: string, connectionId: string, max: number): Promise<string[]> {
    const rows: { id: string }[] = await this.agents.query(
      `WITH RECURSIVE containing (id) AS (
         SELECT agent_id FROM agent_connections WHERE connection_id = $2
         UNION
         SELECT member.agent_id FROM agent_connections member JOIN containing ON member.connection_id = containing.id
       )
       SELECT connection.id FROM containing JOIN connections connection ON connection.id = containing.id
        WHERE connection.organization_id = $1 ORDER BY connection.title, connection.id LIMIT $3`,
      [organizationId, connectionId, max],
    );
    return rows.map(({ id }) => id);
  }

  /** False if another agent of the organization has the slug. */
  async insert(manager: EntityManager, agent: AgentEntity): Promise<boolean> {
    const insert = manager
      .createQueryBuilder()
      .insert()
      .into(AgentEntity)
      .values(agent as QueryDeepPartialEntity<AgentEntity>);
    const { raw } = await insert.orIgnore().returning('id').execute();
    return (raw as unknown[]).length > 0;
  }

  /** The first of `<slug>-2`, `<slug>-3` and so on that no agent of the organization has. */
  async freeSlug(manager: EntityManager, organizationId: string, slug: string): Promise<string> {
    const [free]: [{ slug: string }] = await manager.query(
      `SELECT candidate.slug
         FROM (SELECT $2 || '-' || number AS slug, number
                 FROM generate_series(2, (SELECT count(*) + 2 FROM agents WHERE organization_id = $1)) AS number
              ) AS candidate
        WHERE NOT EXISTS (SELECT FROM agents WHERE organization_id = $1 AND slug = candidate.slug)
        ORDER BY candidate.number LIMIT 1`,
      [organizationId, slug],
    );
    return free.slug;
  }

  /**
   * Writes the properties that are not undefined.
   * @throws DomainError `conflict` if another agent of the organization has the slug
   */
  async update(
    manager: EntityManager,
    id: string,
    settings: Partial<
      Pick<
        AgentEntity,
        | 'slug'
        | 'instructions'
        | 'tier'
        | 'maxSteps'
        | 'historyMaxMessages'
        | 'historyMaxTokens'
        | 'approvalTimeoutS'
        | 'spend'
        | 'toolMode'
        | 'pinnedTools'
        | 'outputSchema'
        | 'webhookOutput'
        | 'exposeRun'
        | 'askTimeoutS'
      >
    >,
  ): Promise<void> {
    if (Object.values(settings).every((value) => value === undefined)) return;
    await manager.update(AgentEntity, { id }, settings).catch((error: unknown) => {
      throw (error as { constraint?: string }).constraint === SLUG_INDEX ? slugTaken() : error;
    });
  }

  /** Until the transaction ends, no other transaction changes compositions in the organization. */
  async lockCompositions(manager: EntityManager, organizationId: string): Promise<void> {
    await manager.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [COMPOSITION_LOCK, organizationId]);
  }

  /** True if the agent contains itself, directly or through other agents. Reliable only under `lockCompositions`. */
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

  /** The selections of the agents among these connections. */
  async nestedSelections(
    manager: EntityManager,
    connectionIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly NestedSelection[]>> {
    const rows: { agentId: string; selections: NestedSelection[] }[] = await manager.query(
      `SELECT agent.id AS "agentId", coalesce(json_agg(json_build_object(
                'connectionId', member.connection_id, 'selectedTools', member.selected_tools, 'isAgent',
                inner_agent.id IS NOT NULL
              )) FILTER (WHERE member.agent_id IS NOT NULL), '[]') AS selections
         FROM agents agent
         LEFT JOIN agent_connections member ON member.agent_id = agent.id
         LEFT JOIN agents inner_agent ON inner_agent.id = member.connection_id
        WHERE agent.id = ANY($1::uuid[])
        GROUP BY agent.id`,
      [connectionIds],
    );
    return new Map(rows.map(({ agentId, selections }) => [agentId, selections]));
  }

  /** Reliable until the transaction ends if it holds the agent's row. */
  async findConnections(manager: EntityManager, agentId: string): Promise<readonly AgentConnection[]> {
    return manager.find(AgentConnectionEntity, { where: { agentId }, order: { position: 'ASC' } });
  }

  findSettings(manager: EntityManager, id: string): Promise<AgentEntity> {
    return manager.findOneByOrFail(AgentEntity, { id });
  }

  async replaceConnections(
    manager: EntityManager,
    agentId: string,
    connections: readonly AgentConnection[],
  ): Promise<void> {
    await manager.delete(AgentConnectionEntity, { agentId });
    const rows = connections.map(({ connectionId, selectedTools, prefix, approval }, position) => ({
      agentId,
      connectionId,
      position,
      selectedTools: selectedTools === null ? null : [...selectedTools],
      prefix,
      approval,
    }));
    // TypeORM's type for parts of entities does not know JSON of any form.
    const parts = rows as QueryDeepPartialEntity<AgentConnectionEntity>[];
    if (rows.length > 0) await manager.insert(AgentConnectionEntity, parts);
  }
}
