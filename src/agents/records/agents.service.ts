import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { DataSource, type EntityManager } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { changedRateLimit, type SpendLimit } from '../../core/limits.js';
import type { Principal } from '../../core/principal.js';
import { changeOrganization } from '../../platform/database/organization-locks.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { type VirtualConnection, VirtualConnections } from '../../connections/virtual-connections.js';
import {
  type AgentConnection,
  DEFAULT_APPROVAL_TIMEOUT_S,
  DEFAULT_ASK_TIMEOUT_S,
  DEFAULT_MAX_STEPS,
  DEFAULT_TOOL_MODE,
  type RunnableAgent,
} from './agent.js';
import type { AgentCreateData, AgentItem, AgentListInput, AgentPage, AgentUpdateData } from './agent.dto.js';
import { toConnections, toHistory, toItem, contentOf } from './agent-item.js';
import { isSlug, slugFromTitle, slugTaken } from './agent-slug.js';
import { OutputSchemas } from '../output-schemas.js';
import { addedSelections, missingGrants, type Selection } from './selection-rights.js';
import type { AgentEntity } from './agent.entity.js';
import { AgentVersionsRepository, type VersionAuthor } from './agent-versions.repository.js';
import {
  AGENT_BYTES,
  AgentRepository,
  type MemberOutline,
  type StoredAgent,
  usesConnection,
} from './agent.repository.js';

/**
 * Creates, reads, updates and deletes agents. An agent is a connection of type VIRTUAL and its settings, written
 * together under one id.
 */
@Injectable()
export class AgentsService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly repository: AgentRepository,
    private readonly virtual: VirtualConnections,
    private readonly changes: ConnectionChanges,
    private readonly schemas: OutputSchemas,
    private readonly versions: AgentVersionsRepository,
  ) {}

  /** The agent with all settings that a run needs. Accepts any text as id. */
  async findForRun(organizationId: string, agentId: string): Promise<RunnableAgent | undefined> {
    return isUUID(agentId) ? this.repository.findRunnable(organizationId, agentId) : undefined;
  }

  /** The same for the agent with this id or slug. */
  async findNamed(organizationId: string, name: string): Promise<RunnableAgent | undefined> {
    if (isUUID(name)) return this.repository.findRunnable(organizationId, name);
    return isSlug(name) ? this.repository.findRunnableBySlug(organizationId, name) : undefined;
  }

  /** The same for several agents, in no particular order. @param ids UUIDs */
  findAllForRun(organizationId: string, ids: readonly string[]): Promise<RunnableAgent[]> {
    return this.repository.findAllRunnable(organizationId, ids);
  }

  /** Which connections and agents each agent of the organization uses. */
  findMemberOutlines(organizationId: string): Promise<MemberOutline[]> {
    return this.repository.findMemberOutlines(organizationId);
  }

  /** The ids of at most `max` agents that contain the connection or agent, directly or through other agents. */
  findContaining(organizationId: string, connectionId: string, max: number): Promise<string[]> {
    return this.repository.findContaining(organizationId, connectionId, max);
  }

  async list(
    { connection_id: used, ...input }: AgentListInput,
    caller: Principal,
    answer: HeldAnswer,
  ): Promise<AgentPage> {
    const agents = { bytes: AGENT_BYTES, ...(used !== undefined && { condition: usesConnection(used) }) };
    const page = await this.virtual.list(caller.organization.id, input, answer, agents);
    const stored = await this.repository.findAll(page.items.map(({ id }) => id));
    const items = page.items.flatMap((connection) => {
      const agent = stored.get(connection.id);
      // Deleted since the page was read.
      return agent === undefined ? [] : [toItem(connection, agent)];
    });
    return { ...page, items };
  }

  /** @throws DomainError `not_found` */
  async get(id: string, caller: Principal): Promise<AgentItem> {
    const found = await this.find(caller.organization.id, id);
    if (found === undefined) throw unknownAgent();
    return toItem(found.connection, found.agent);
  }

  /**
   * @throws DomainError `not_found` for a connection outside the organization, `permission_widening` for a selection
   * that the caller cannot call, `conflict` for a slug that another agent has
   */
  async create(data: AgentCreateData, caller: Principal): Promise<AgentItem> {
    const id = newId();
    const organizationId = caller.organization.id;
    if (data.output_schema) await this.schemas.requireUsable(data.output_schema, organizationId);
    await changeOrganization(this.dataSource.manager, organizationId, async (manager) => {
      const { title, description = null, status = 'active' } = data;
      await this.virtual.insert(manager, { id, organizationId, title, description, status });
      const { instructions = null, tier = null, max_steps: maxSteps = DEFAULT_MAX_STEPS } = data;
      const { approval_timeout: approvalTimeoutS = DEFAULT_APPROVAL_TIMEOUT_S } = data;
      const { output_schema: outputSchema = null, webhook_output: webhookOutput = false } = data;
      const settings = {
        id,
        organizationId,
        instructions,
        tier,
        maxSteps,
        approvalTimeoutS,
        spend: changedRateLimit<SpendLimit>(null, data.spend ?? null),
        toolMode: data.tool_mode ?? DEFAULT_TOOL_MODE,
        pinnedTools: data.pinned_tools ?? [],
        outputSchema,
        webhookOutput,
        exposeRun: data.expose_run ?? false,
        askTimeoutS: data.ask_timeout_s ?? DEFAULT_ASK_TIMEOUT_S,
        ...toHistory(data.history),
      };
      await this.insert(manager, settings, data);
      // No agent can contain a new agent yet, so it cannot be part of a cycle.
      const connections = toConnections(data.connections ?? []);
      await this.compose(manager, organizationId, id, connections);
      await this.requireGrants(manager, caller, connections, connections);
      await this.recordVersion(manager, organizationId, id, caller);
    });
    return this.get(id, caller);
  }

  /**
   * Requires grants on the tools that the edit adds. New instructions and a new output schema, whose descriptions the
   * model reads, require grants on all tools, because they control how every run uses the tools. So does sending the
   * output to webhooks. Removing tools requires no grant.
   * @param restoredFrom the version that has the data
   * @throws DomainError `not_found`, `agent_cycle`, `permission_widening`, `conflict` for a slug that another agent has
   */
  async update(id: string, data: AgentUpdateData, caller: Principal, restoredFrom?: number): Promise<AgentItem> {
    const organizationId = caller.organization.id;
    if (data.output_schema) await this.schemas.requireUsable(data.output_schema, organizationId);
    await changeOrganization(this.dataSource.manager, organizationId, async (manager) => {
      const { connections, title, description, status, instructions, tier, max_steps: maxSteps } = data;
      if (connections !== undefined) await this.repository.lockCompositions(manager, organizationId);
      if (!(await this.virtual.hold(manager, organizationId, id))) throw unknownAgent();
      // Also what changed since the last version without an edit: a deleted connection, for example.
      await this.recordVersion(manager, organizationId, id);
      await this.virtual.update(manager, organizationId, id, { title, description, status });
      const stored = await this.repository.findConnections(manager, id);
      const members = connections === undefined ? stored : toConnections(connections);
      const current = await this.repository.findSettings(manager, id);
      const concernsAll = concernsAllTools(current, data);
      const history = data.history === undefined ? {} : toHistory(data.history);
      await this.repository.update(manager, id, {
        slug: data.slug,
        instructions,
        tier,
        maxSteps,
        approvalTimeoutS: data.approval_timeout,
        spend: data.spend === undefined ? undefined : changedRateLimit(current.spend, data.spend),
        toolMode: data.tool_mode,
        pinnedTools: data.pinned_tools === null ? [] : data.pinned_tools,
        outputSchema: data.output_schema,
        webhookOutput: data.webhook_output,
        exposeRun: data.expose_run,
        askTimeoutS: data.ask_timeout_s,
        ...history,
      });
      if (connections !== undefined) {
        await this.compose(manager, organizationId, id, members);
        await this.refuseCycle(manager, id);
      }
      await this.requireGrants(manager, caller, members, concernsAll ? members : addedSelections(stored, members));
      await this.recordVersion(manager, organizationId, id, { ...caller, ...(restoredFrom && { restoredFrom }) });
    });
    // Values read before the commit are outdated.
    this.changes.changed(id);
    return this.get(id, caller);
  }

  /** @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<AgentItem> {
    const item = await this.get(id, caller);
    if (!(await this.virtual.delete(caller.organization.id, id))) throw unknownAgent();
    return item;
  }

  private async recordVersion(
    manager: EntityManager,
    organizationId: string,
    id: string,
    author?: VersionAuthor,
  ): Promise<void> {
    const connection = await this.virtual.find(manager, organizationId, id);
    if (connection === null) throw unknownAgent();
    const settings = await this.repository.findSettings(manager, id);
    const connections = await this.repository.findConnections(manager, id);
    const item = toItem(connection, { ...settings, connections, toolCount: 0 });
    await this.versions.record(manager, id, contentOf(item), author);
  }

  /** Stores the settings of a new agent, under a slug of its title unless one is given. */
  private async insert(
    manager: EntityManager,
    settings: Omit<AgentEntity, 'slug'>,
    { title, slug }: AgentCreateData,
  ): Promise<void> {
    const wanted = slug ?? slugFromTitle(title);
    let free = wanted;
    while (!(await this.repository.insert(manager, { ...settings, slug: free }))) {
      if (slug !== undefined) throw slugTaken();
      free = await this.repository.freeSlug(manager, settings.organizationId, wanted);
    }
  }

  private async find(
    organizationId: string,
    id: string,
  ): Promise<{ connection: VirtualConnection; agent: StoredAgent } | undefined> {
    const [connection, agents] = await Promise.all([
      this.virtual.find(this.dataSource.manager, organizationId, id),
      this.repository.findAll([id]),
    ]);
    const agent = connection === null ? undefined : agents.get(connection.id);
    return connection === null || agent === undefined ? undefined : { connection, agent };
  }

  private async compose(
    manager: EntityManager,
    organizationId: string,
    id: string,
    connections: readonly AgentConnection[],
  ): Promise<void> {
    // Locked before the rows that refer to them, in the same order as a deletion takes its locks.
    const ids = connections.map(({ connectionId }) => connectionId);
    const existing = await this.virtual.holdExisting(manager, organizationId, ids);
    refuseUnknown(connections, existing);
    await this.repository.replaceConnections(manager, id, connections);
  }

  /** @throws DomainError `permission_widening` that names each connection whose selection the caller cannot call */
  private async requireGrants(
    manager: EntityManager,
    { permissions }: Principal,
    members: readonly AgentConnection[],
    needed: readonly Selection[],
  ): Promise<void> {
    const missing = await missingGrants(permissions, needed, (ids) => this.repository.nestedSelections(manager, ids));
    if (missing.length > 0) throw widening(members, missing);
  }

  private async refuseCycle(manager: EntityManager, id: string): Promise<void> {
    if (!(await this.repository.reachesItself(manager, id))) return;
    const message = 'The agent would contain itself, directly or through another agent.';
    throw new DomainError('agent_cycle', message, [{ path: 'data.connections', code: 'agent_cycle', message }]);
  }
}

function refuseUnknown(connections: readonly AgentConnection[], existing: ReadonlySet<string>): void {
  const message = 'There is no connection with this id in the organization.';
  const faults = connections.flatMap(({ connectionId }, index) =>
    existing.has(connectionId)
      ? []
      : [{ path: `data.connections[${index}].connection_id`, code: 'not_found', message }],
  );
  if (faults.length > 0) throw new DomainError('not_found', message, faults);
}

function widening(members: readonly AgentConnection[], missing: readonly Selection[]): DomainError {
  const message = 'The caller lacks grants for tools that the agent selects from this connection.';
  const faults = missing.map(({ connectionId }) => {
    const index = members.findIndex((member) => member.connectionId === connectionId);
    return { path: `data.connections[${index}]`, code: 'permission_widening', message };
  });
  return new DomainError('permission_widening', message, faults);
}

function unknownAgent(): DomainError {
  return new DomainError('not_found', 'There is no agent with this id in the organization.');
}

/** Whether the update changes what the agent tells its models, or sends what comes of it to webhooks from now on. */
function concernsAllTools(
  stored: AgentEntity,
  { instructions, output_schema: schema, webhook_output: isSent }: AgentUpdateData,
): boolean {
  const isSchemaNew = schema !== undefined && JSON.stringify(schema) !== JSON.stringify(stored.outputSchema);
  const isSentNow = isSent === true && !stored.webhookOutput;
  return isSchemaNew || isSentNow || (instructions !== undefined && instructions !== stored.instructions);
}
