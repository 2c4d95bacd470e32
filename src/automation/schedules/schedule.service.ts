import { Injectable } from '@nestjs/common';
import { databaseDate } from '../../core/database-time.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { paginate } from '../../core/paging/paginate.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import { membershipCredentialId } from '../../identity/organizations/membership.source.js';
import { RunReader } from '../../runtime/runs/records/run-reader.js';
import { RunQueue } from '../../runtime/runs/run-queue.js';
import { ThreadService } from '../../runtime/threads/thread.service.js';
import { PasswordChanges } from '../../identity/users/password-changes.js';
import { CronError, nextTime } from './cron-times.js';
import type {
  ScheduleChange,
  ScheduleData,
  ScheduleItem,
  SchedulePage,
  ScheduleRunItem,
  ScheduleRunOutput,
} from './schedule.dto.js';
import type { ScheduleEntity } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { ScheduleObstacle, ScheduleRunner } from './schedule-runner.js';

const SCHEDULE_LIST: ListSpec = {
  name: 'schedules',
  fields: {
    id: { column: 'schedule.id', type: 'uuid' },
    title: { column: 'schedule.title', type: 'string' },
    virtual_mcp_id: { column: 'schedule.virtualMcpId', type: 'uuid' },
    thread_id: { column: 'schedule.threadId', type: 'string', nullable: true },
    enabled: { column: 'schedule.enabled', type: 'boolean' },
    next_run_at: { column: 'schedule.nextRunAt', type: 'date', nullable: true },
    created_at: { column: 'schedule.createdAt', type: 'date' },
    updated_at: { column: 'schedule.updatedAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
  rowBytes: '2048 + octet_length(schedule.message)',
};

/** Creates, reads, updates and deletes schedules, and runs them now. */
@Injectable()
export class ScheduleService {
  constructor(
    private readonly repository: ScheduleRepository,
    private readonly runner: ScheduleRunner,
    private readonly agents: AgentsService,
    private readonly threads: ThreadService,
    private readonly runs: RunReader,
    private readonly queue: RunQueue,
    private readonly limits: RequestLimits,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.registerForOwner((manager, userId) => this.repository.disableOfPerson(manager, userId));
  }

  /**
   * @throws DomainError `invalid_request`, also for a token of a trusted issuer, `agent_not_found`, `thread_not_found`,
   *   `agent_mismatch`, `permission_denied`, `limit_reached`
   */
  async create(data: ScheduleData, caller: Principal): Promise<ScheduleItem> {
    const { timezone = 'UTC', enabled = true, virtual_mcp_id: agentId, thread_id: threadId = null } = data;
    const next = nextRun(data.cron, timezone);
    const schedule = {
      id: newId(),
      organizationId: caller.organization.id,
      title: data.title,
      virtualMcpId: await this.requireAgent(agentId, threadId, caller),
      threadId,
      cron: data.cron,
      timezone,
      message: data.message,
      tier: data.tier ?? null,
      overlap: data.overlap ?? 'skip',
      catchUp: data.catch_up ?? false,
      enabled,
      nextRunAt: enabled ? next : null,
      ...creatorOf(caller),
    };
    return this.toItem(await this.repository.insert(schedule));
  }

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<SchedulePage> {
    const query = this.repository.queryOfOrganization(caller.organization.id);
    const page = await paginate(query, SCHEDULE_LIST, input, answer);
    const lastRuns = await this.findLastRuns(page.items);
    return { ...page, items: page.items.map((schedule) => itemOf(schedule, lastRuns)) };
  }

  /** @throws DomainError `not_found` */
  async get(id: string, caller: Principal): Promise<ScheduleItem> {
    return this.toItem(await this.find(id, caller));
  }

  /**
   * A caller who changes what is run, or when, is the one for whom the schedule acts from then on, so that nobody can
   * use the rights of another. Another title does not change that, and neither does disabling.
   * @throws DomainError `not_found`, `conflict`, and those of `create`
   */
  async update(id: string, data: ScheduleChange, caller: Principal): Promise<ScheduleItem> {
    const stored = await this.findRunnable(id, caller);
    const { title, message, tier, overlap, catch_up: catchUp, virtual_mcp_id, thread_id } = data;
    const { cron = stored.cron, timezone = stored.timezone, enabled = stored.enabled } = data;
    const threadId = thread_id === undefined ? stored.threadId : thread_id;
    const isOtherRun = Object.entries(data).some(
      ([name, value]) => value !== undefined && name !== 'title' && (name !== 'enabled' || value === true),
    );
    const isOtherTime = cron !== stored.cron || timezone !== stored.timezone || enabled !== stored.enabled;
    const next = isOtherTime ? nextRun(cron, timezone) : null;
    const isUpdated = await this.repository.update(stored, {
      ...withoutUndefined({ title, message, tier, overlap, catchUp }),
      // A time that is not changed stays, because it can be handled at this moment.
      ...(isOtherTime && { cron, timezone, enabled, nextRunAt: enabled ? next : null }),
      ...(data.enabled !== undefined && { disabledReason: null }),
      ...(isOtherRun && {
        virtualMcpId: await this.requireAgent(virtual_mcp_id ?? stored.virtualMcpId, threadId, caller),
        threadId,
        ...creatorOf(caller),
      }),
      updatedAt: databaseDate(),
    });
    const item = await this.get(id, caller);
    if (!isUpdated) throw new DomainError('conflict', 'The schedule was changed at this moment. Try again.');
    return item;
  }

  /** @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<ScheduleItem> {
    const item = await this.get(id, caller);
    await this.repository.delete(caller.organization.id, id);
    return item;
  }

  /**
   * Posts a run now, for the creator.
   * @throws DomainError `not_found`, `permission_denied`, `rate_limited`, `conflict` if it cannot post a run
   */
  async run(id: string, caller: Principal): Promise<ScheduleRunOutput> {
    const schedule = await this.findRunnable(id, caller);
    await this.limits.countPostedRun(caller.organization);
    try {
      const run = await this.repository.postNow(schedule, await this.runner.prepare(schedule, { isCounted: true }));
      if (run === undefined) throw new DomainError('conflict', 'The schedule was changed at this moment. Try again.');
      if (run.isHead) await this.queue.wakeWorker();
      return { taskId: run.runId, thread_id: run.threadId };
    } catch (error) {
      if (error instanceof ScheduleObstacle) throw new DomainError('conflict', error.message);
      throw error;
    }
  }

  private async find(id: string, caller: Principal): Promise<ScheduleEntity> {
    return orUnknown(await this.repository.find(caller.organization.id, id));
  }

  /** A schedule of an agent that the caller can run. */
  private async findRunnable(id: string, caller: Principal): Promise<ScheduleEntity> {
    const schedule = await this.find(id, caller);
    requireRunAccess(caller, schedule.virtualMcpId);
    return schedule;
  }

  /** The id of the agent as it is stored, if the caller can run it and the thread is one of its threads. */
  private async requireAgent(agentId: string, threadId: string | null, caller: Principal): Promise<string> {
    const organizationId = caller.organization.id;
    const agent = await this.agents.findForRun(organizationId, agentId);
    if (agent === undefined) {
      const message = 'There is no agent with this id in the organization.';
      throw new DomainError('agent_not_found', message, [
        { path: 'data.virtual_mcp_id', code: 'agent_not_found', message },
      ]);
    }
    requireRunAccess(caller, agent.id);
    if (threadId === null) return agent.id;
    if ((await this.threads.findThread(organizationId, threadId)).virtualMcpId === agent.id) return agent.id;
    const message = 'The thread belongs to another agent.';
    throw new DomainError('agent_mismatch', message, [{ path: 'data.thread_id', code: 'agent_mismatch', message }]);
  }

  private async toItem(schedule: ScheduleEntity): Promise<ScheduleItem> {
    return itemOf(schedule, await this.findLastRuns([schedule]));
  }

  private findLastRuns(schedules: readonly ScheduleEntity[]): Promise<LastRuns> {
    return this.runs.findStatuses(schedules.flatMap(({ lastRunId }) => lastRunId ?? []));
  }
}

type LastRuns = ReadonlyMap<string, ScheduleRunItem['status']>;

/** @throws DomainError `invalid_request` */
function nextRun(cron: string, timezone: string): Date {
  try {
    return nextTime(cron, timezone, databaseDate());
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    const { field, message } = error;
    throw new DomainError('invalid_request', message, [{ path: `data.${field}`, code: `is_${field}`, message }]);
  }
}

/**
 * For whom a schedule acts: its creator, or for a signed-in browser the member.
 * @throws DomainError `invalid_request` for a token of an issuer, whose end is in the token only
 */
function creatorOf({ kind, credentialId, userId, apiKeyId, grantId, organization }: Principal) {
  if (kind === 'issuer') {
    const message =
      'A schedule cannot act for a token of a trusted issuer, because the token expires. Use an API key or OAuth.';
    throw new DomainError('invalid_request', message);
  }
  if (kind === 'browser_session' && userId !== null) {
    // Signing out must not stop the schedule.
    const membership = membershipCredentialId(userId, organization.id);
    return { credentialKind: 'member' as const, credentialId: membership, userId, apiKeyId, grantId };
  }
  return { credentialKind: kind, credentialId, userId, apiKeyId, grantId };
}

function withoutUndefined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const defined = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function orUnknown(schedule: ScheduleEntity | null): ScheduleEntity {
  if (schedule === null) throw new DomainError('not_found', 'There is no schedule with this id in the organization.');
  return schedule;
}

function itemOf(schedule: ScheduleEntity, lastRuns: LastRuns): ScheduleItem {
  const lastStatus = schedule.lastRunId === null ? undefined : lastRuns.get(schedule.lastRunId);
  return {
    id: schedule.id,
    title: schedule.title,
    virtual_mcp_id: schedule.virtualMcpId,
    thread_id: schedule.threadId,
    cron: schedule.cron,
    timezone: schedule.timezone,
    message: schedule.message,
    tier: schedule.tier,
    overlap: schedule.overlap,
    catch_up: schedule.catchUp,
    enabled: schedule.enabled,
    disabled_reason: schedule.disabledReason,
    next_run_at: schedule.nextRunAt?.toISOString() ?? null,
    last_run_at: schedule.lastRunAt?.toISOString() ?? null,
    last_run:
      schedule.lastRunId !== null && lastStatus !== undefined ? { id: schedule.lastRunId, status: lastStatus } : null,
    last_skipped_at: schedule.lastSkippedAt?.toISOString() ?? null,
    last_skip_reason: schedule.lastSkipReason,
    user_id: schedule.userId,
    api_key_id: schedule.apiKeyId,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
  };
}
