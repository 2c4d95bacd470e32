import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { CALLER_ID, newId } from '../../core/ids.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { LongReads } from '../../platform/database/long-reads.js';
import type { ThreadCreateData, ThreadItem, ThreadPage, ThreadUpdateData } from './thread.dto.js';
import { readsMessages, requireReadableTexts } from './message-texts.js';
import { requireVisibleCosts, seesCosts, THREAD_LIST, THREAD_TEXTS } from './thread-list.js';
import type { ThreadEntity } from './thread.entity.js';
import { type LastRun, ThreadRepository } from './thread.repository.js';

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
    return this.toItem(caller, thread);
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

  /**
   * @throws DomainError `permission_denied` for a search that needs to read messages, or for costs that the caller may
   *   not see, and as `LongReads.page`
   */
  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ThreadPage> {
    requireReadableTexts(caller, input.where, THREAD_TEXTS);
    requireVisibleCosts(caller, input);
    const organizationId = caller.organization.id;
    const queryOf = (manager: EntityManager) => this.repository.queryOfOrganization(manager, organizationId);
    const page = await this.reads.page(organizationId, queryOf, THREAD_LIST, input, answer);
    return { ...page, items: await this.itemsOf(caller, page.items) };
  }

  async get(id: string, caller: Principal): Promise<ThreadItem> {
    return this.toItem(caller, await this.findThread(caller.organization.id, id));
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
    return this.toItem(caller, await this.findThread(organizationId, id));
  }

  /** Deletes the thread with its transcript. @throws DomainError `conflict` while a run is open */
  async delete(id: string, caller: Principal): Promise<ThreadItem> {
    const thread = await this.findThread(caller.organization.id, id);
    const item = await this.toItem(caller, thread);
    if (!(await this.repository.deleteUnlessBusy(caller.organization.id, id))) {
      throw new DomainError('conflict', 'A run is in progress on this thread; cancel it first.');
    }
    return item;
  }

  /** Deletes a transient thread with its transcript, unless a run is open. Any other thread stays. */
  async deleteTransient(organizationId: string, id: string): Promise<void> {
    await this.repository.deleteTransient(organizationId, id);
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

  private async toItem(caller: Principal, thread: ThreadEntity): Promise<ThreadItem> {
    const [item] = await this.itemsOf(caller, [thread]);
    if (item === undefined) throw new Error('Each thread has an item.');
    return item;
  }

  private async itemsOf(caller: Principal, threads: readonly ThreadEntity[]): Promise<ThreadItem[]> {
    const organizationId = caller.organization.id;
    const ids = threads.map(({ id }) => id);
    const lastRuns = await this.repository.findLastRuns(organizationId, ids);
    const questions = readsMessages(caller) ? await this.repository.findQuestions(organizationId, ids) : undefined;
    return threads.map((thread) => ({
      ...itemOf(thread, lastRuns),
      question: questions?.get(thread.id) ?? null,
      // The users of a website need not know what its operator pays.
      cost_usd: seesCosts(caller) ? thread.costUsd : null,
    }));
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

function itemOf(
  thread: ThreadEntity,
  lastRuns: ReadonlyMap<string, LastRun>,
): Omit<ThreadItem, 'question' | 'cost_usd'> {
  return {
    id: thread.id,
    title: thread.title,
    virtual_mcp_id: thread.virtualMcpId,
    status: thread.status,
    metadata: thread.metadata,
    last_run: lastRuns.get(thread.id) ?? null,
    tools: thread.tools,
    total_tokens: thread.totalTokens,
    duration_ms: thread.durationMs,
    created_by: thread.createdBy,
    created_at: thread.createdAt.toISOString(),
    updated_at: thread.updatedAt.toISOString(),
  };
}
