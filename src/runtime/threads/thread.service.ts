import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { CALLER_ID, newId } from '../../core/ids.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { METADATA_KEY } from '../../core/validation/is-metadata.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { LongReads } from '../../platform/database/long-reads.js';
import type { ThreadCreateData, ThreadItem, ThreadPage, ThreadUpdateData } from './thread.dto.js';
import { THREAD_STATUSES, type ThreadEntity } from './thread.entity.js';
import { type LastRun, ThreadRepository } from './thread.repository.js';

const THREAD_LIST: ListSpec = {
  name: 'threads',
  fields: {
    id: { column: 'thread.id', type: 'string' },
    title: { column: 'thread.title', type: 'string' },
    virtual_mcp_id: { column: 'thread.virtualMcpId', type: 'uuid' },
    status: { column: 'thread.status', type: 'enum', values: THREAD_STATUSES },
    created_at: { column: 'thread.createdAt', type: 'date' },
    updated_at: { column: 'thread.updatedAt', type: 'date' },
  },
  maps: { metadata: { column: 'thread.metadata', key: METADATA_KEY } },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

@Injectable()
export class ThreadService {
  constructor(
    private readonly repository: ThreadRepository,
    private readonly agents: AgentsService,
    private readonly reads: LongReads,
  ) {}

  /**
   * A new thread, `completed` because no run is in progress; or the existing thread with this id and agent.
   * @param isTransient the thread is deleted some time after its run is over
   * @throws DomainError `agent_not_found`, `thread_exists`
   */
  async create(data: ThreadCreateData, caller: Principal, isTransient = false): Promise<ThreadItem> {
    const organizationId = caller.organization.id;
    const agent = await this.agents.findForRun(organizationId, data.virtual_mcp_id);
    if (agent === undefined) throw unknownAgent();
    const id = data.id ?? newId();
    await this.repository.insertIfAbsent({
      organizationId,
      id,
      title: data.title,
      virtualMcpId: agent.id,
      status: 'completed',
      metadata: data.metadata ?? {},
      createdBy: caller.userId,
      isTransient,
    });
    const thread = await this.findThread(organizationId, id);
    if (thread.virtualMcpId !== agent.id) {
      throw new DomainError('thread_exists', 'A thread with this id already exists and belongs to another agent.');
    }
    return this.toItem(thread);
  }

  /** Makes a thread in the caller's transaction, and returns its id. */
  async createWithin(
    manager: EntityManager,
    {
      userId: createdBy,
      ...thread
    }: { organizationId: string; title: string; virtualMcpId: string; userId: string | null },
  ): Promise<string> {
    const id = newId();
    const made = { ...thread, id, metadata: {}, createdBy };
    await this.repository.insert(manager, { ...made, status: 'completed', isTransient: false });
    return id;
  }

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ThreadPage> {
    const organizationId = caller.organization.id;
    const queryOf = (manager: EntityManager) => this.repository.queryOfOrganization(manager, organizationId);
    const page = await this.reads.page(organizationId, queryOf, THREAD_LIST, input, answer);
    const ids = page.items.map(({ id }) => id);
    const lastRuns = await this.repository.findLastRuns(organizationId, ids);
    return { ...page, items: page.items.map((thread) => itemOf(thread, lastRuns)) };
  }

  async get(id: string, caller: Principal): Promise<ThreadItem> {
    return this.toItem(await this.findThread(caller.organization.id, id));
  }

  async update(id: string, data: ThreadUpdateData, caller: Principal): Promise<ThreadItem> {
    const organizationId = caller.organization.id;
    const { title, metadata } = data;
    if (title !== undefined || metadata !== undefined) {
      await this.repository.change(organizationId, id, {
        ...(title !== undefined && { title }),
        ...(metadata && { metadata }),
      });
    }
    return this.toItem(await this.findThread(organizationId, id));
  }

  /** Deletes the thread with its transcript. @throws DomainError `conflict` while a run is open */
  async delete(id: string, caller: Principal): Promise<ThreadItem> {
    const thread = await this.findThread(caller.organization.id, id);
    const item = await this.toItem(thread);
    if (!(await this.repository.deleteUnlessBusy(caller.organization.id, id))) {
      throw new DomainError('conflict', 'A run is in progress on this thread; cancel it first.');
    }
    return item;
  }

  /** Deletes the thread with its transcript, unless it is gone or a run is open. */
  async deleteIdle(organizationId: string, id: string): Promise<void> {
    await this.repository.deleteUnlessBusy(organizationId, id);
  }

  /** @throws DomainError `thread_not_found` */
  async requireExisting(organizationId: string, id: string): Promise<void> {
    if (!CALLER_ID.test(id) || !(await this.repository.exists(organizationId, id))) throw unknownThread();
  }

  /**
   * Checks that the caller can run the agent of the thread and read its streams.
   * @throws DomainError `thread_not_found`, `permission_denied`
   */
  async requireRunnable(caller: Principal, id: string): Promise<void> {
    const { id: organizationId } = caller.organization;
    if (caller.runAccess === 'members') return this.requireExisting(organizationId, id);
    requireRunAccess(caller, (await this.findThread(organizationId, id)).virtualMcpId);
  }

  /** @throws DomainError `thread_not_found` */
  async findThread(organizationId: string, id: string): Promise<ThreadEntity> {
    const thread = CALLER_ID.test(id) ? await this.repository.findThread(organizationId, id) : null;
    if (thread === null) throw unknownThread();
    return thread;
  }

  private async toItem(thread: ThreadEntity): Promise<ThreadItem> {
    return itemOf(thread, await this.repository.findLastRuns(thread.organizationId, [thread.id]));
  }
}

function unknownThread(): DomainError {
  return new DomainError('thread_not_found', 'There is no thread with this id in the organization.');
}

function unknownAgent(): DomainError {
  return new DomainError('agent_not_found', 'There is no agent with this id in the organization.', [
    { path: 'data.virtual_mcp_id', code: 'agent_not_found', message: 'This agent does not exist.' },
  ]);
}

function itemOf(thread: ThreadEntity, lastRuns: ReadonlyMap<string, LastRun>): ThreadItem {
  return {
    id: thread.id,
    title: thread.title,
    virtual_mcp_id: thread.virtualMcpId,
    status: thread.status,
    metadata: thread.metadata,
    last_run: lastRuns.get(thread.id) ?? null,
    created_by: thread.createdBy,
    created_at: thread.createdAt.toISOString(),
    updated_at: thread.updatedAt.toISOString(),
  };
}
