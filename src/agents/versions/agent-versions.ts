import { Injectable } from '@nestjs/common';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { type NameOf, Names } from '../../core/names/names.js';
import type { Principal } from '../../core/principal.js';
import { DressingCheck } from '../dressing-check.js';
import type { AgentContent } from '../records/agent.dto.js';
import type { AgentVersionEntity } from '../records/agent-version.entity.js';
import { AgentVersionsRepository } from '../records/agent-versions.repository.js';
import { AgentsService } from '../records/agents.service.js';
import type { AgentRestored, AgentVersionAnswer, AgentVersionItem, AgentVersionList } from './agent-version.dto.js';

/** Reads the versions of agents, and takes agents back to them. */
@Injectable()
export class AgentVersions {
  constructor(
    private readonly agents: AgentsService,
    private readonly versions: AgentVersionsRepository,
    private readonly connections: ConnectionDirectory,
    private readonly dressings: DressingCheck,
    private readonly names: Names,
  ) {}

  /** @throws DomainError `not_found`, and as `LongReads.read` */
  async list(id: string, caller: Principal, { callerLeft }: HeldAnswer): Promise<AgentVersionList> {
    await this.agents.get(id, caller);
    const versions = await this.versions.list(caller.organization.id, id, callerLeft);
    const nameOf = await this.names.find(versions.flatMap(({ userId, apiKeyId }) => [userId, apiKeyId]));
    return { items: versions.map((version) => ({ ...toItem(version, nameOf), changed: version.changed })) };
  }

  /** @throws DomainError `not_found` */
  async get(id: string, number: number, caller: Principal): Promise<AgentVersionAnswer> {
    const version = await this.find(id, number, caller);
    const nameOf = await this.names.find([version.userId, version.apiKeyId]);
    return { item: { ...toItem(version, nameOf), content: version.content as AgentContent } };
  }

  /**
   * Gives the agent the content of the version, with the rules of an update. Connections that were deleted since are
   * left out.
   * @throws DomainError as an update does, and `not_found` for an unknown version
   */
  async restore(id: string, number: number, caller: Principal): Promise<AgentRestored> {
    const { content } = await this.find(id, number, caller);
    const { connections: members, ...settings } = content as AgentContent;
    const ids = members.map(({ connection_id: connectionId }) => connectionId);
    const found = await this.connections.findAll(caller.organization.id, ids);
    const existing = new Set(found.map((connection) => connection.id));
    const connections = members.filter(({ connection_id: connectionId }) => existing.has(connectionId));
    await this.dressings.requireFit(connections, caller);
    const item = await this.agents.update(id, { ...settings, connections }, caller, number);
    return { item, missing_connections: ids.filter((connectionId) => !existing.has(connectionId)) };
  }

  private async find(id: string, number: number, caller: Principal): Promise<AgentVersionEntity> {
    await this.agents.get(id, caller);
    const version = await this.versions.find(id, number);
    if (version === null) throw new DomainError('not_found', 'The agent has no version with this number.');
    return version;
  }
}

function toItem(
  { number, createdAt, userId, apiKeyId, restoredFrom }: Omit<AgentVersionEntity, 'content' | 'agentId'>,
  nameOf: NameOf,
): AgentVersionItem {
  return {
    number,
    created_at: createdAt.toISOString(),
    user_id: userId,
    user_email: nameOf(userId),
    api_key_id: apiKeyId,
    key_name: nameOf(apiKeyId),
    restored_from: restoredFrom,
  };
}
