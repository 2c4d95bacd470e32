import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AgentsService } from '../../agents/records/agents.service.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { allows, allowsAny, SELF } from '../../core/permissions.js';
import { DEFAULT_TIER, type Tier } from '../../core/tier.js';
import { CredentialSources } from '../../identity/credentials/credential-source.js';
import { OrganizationCaps } from '../../platform/limits/organization-caps.js';
import { RequestLimits } from '../../platform/limits/request-limits.js';
import { RunPosting, type RunRoom } from '../../runtime/runs/records/run-posting.js';
import { RunTelemetry } from '../../platform/telemetry/run-telemetry.js';
import { ThreadService } from '../../runtime/threads/thread.service.js';
import type { ScheduleEntity } from './schedule.entity.js';
import { type ScheduledRun, ScheduleRepository, type ScheduleSituation } from './schedule.repository.js';

/** Each of them makes the caller the one for whom a schedule acts. */
const MAKING = ['SCHEDULE_CREATE', 'SCHEDULE_UPDATE'];

/** Why a schedule does not post a run. The message is a sentence for people. */
export class ScheduleObstacle extends Error {
  override readonly name = 'ScheduleObstacle';

  constructor(
    message: string,
    /** Whether no later run can be posted either. */
    readonly isLasting: boolean,
  ) {
    super(message);
  }
}

/** Posts the runs of schedules, for their creators. */
@Injectable()
export class ScheduleRunner {
  constructor(
    private readonly repository: ScheduleRepository,
    private readonly agents: AgentsService,
    private readonly threads: ThreadService,
    private readonly posting: RunPosting,
    private readonly sources: CredentialSources,
    private readonly caps: OrganizationCaps,
    private readonly limits: RequestLimits,
    private readonly telemetry: RunTelemetry,
  ) {}

  /**
   * Checks that the schedule can post a run, and returns how. What is returned writes in the caller's transaction.
   * @param isCounted whether the run is in the count of `runs_per_minute`; otherwise what is returned adds it, so that
   *   of several processes only the one that has claimed the time does
   * @throws ScheduleObstacle, also from what is returned
   */
  async prepare(
    schedule: ScheduleEntity,
    { isCounted }: { isCounted: boolean },
  ): Promise<(manager: EntityManager) => Promise<ScheduledRun>> {
    const situation = await this.repository.findSituation(schedule.id);
    if (situation === undefined) throw new ScheduleObstacle('The schedule was deleted.', true);
    if (situation.loss !== null) throw new ScheduleObstacle(situation.loss, true);
    const agent = await this.agents.findForRun(schedule.organizationId, schedule.virtualMcpId);
    if (agent === undefined) throw new ScheduleObstacle('The agent was deleted.', true);
    if (agent.status === 'inactive') throw new ScheduleObstacle('The agent is inactive.', false);
    await this.requireMaker(schedule, situation);
    const waiting = this.caps.limitOf(situation.limits, 'waiting_runs');
    const room =
      waiting === undefined
        ? undefined
        : { waiting, concurrent: this.caps.limitOf(situation.limits, 'concurrent_runs') };
    const tier = schedule.tier ?? agent.tier ?? DEFAULT_TIER;
    const organization = { id: schedule.organizationId, limits: situation.limits };
    return async (manager) => {
      if (!isCounted) await this.limits.countPostedRun(organization).catch(rethrow);
      return this.post(manager, schedule, tier, room);
    };
  }

  /** A schedule ends when its maker could neither create nor change it any more, whatever took the permission away. */
  private async requireMaker(
    { credentialKind, credentialId, virtualMcpId }: ScheduleEntity,
    { runAccess }: ScheduleSituation,
  ): Promise<void> {
    const usable = await this.sources.sourceOf(credentialKind)?.findUsable([credentialId]);
    const permissions = usable?.get(credentialId);
    if (permissions === undefined || !MAKING.some((name) => allows(permissions, SELF, name))) {
      throw new ScheduleObstacle('Its creator can no longer make schedules.', true);
    }
    if (runAccess === 'granted' && !allowsAny(permissions, virtualMcpId)) {
      throw new ScheduleObstacle('Its creator can no longer run the agent.', true);
    }
  }

  private async post(
    manager: EntityManager,
    schedule: ScheduleEntity,
    tier: Tier,
    room: RunRoom | undefined,
  ): Promise<ScheduledRun> {
    const { organizationId, title, virtualMcpId, userId } = schedule;
    const threadId =
      schedule.threadId ?? (await this.threads.createWithin(manager, { organizationId, title, virtualMcpId, userId }));
    const requestId = newId();
    const run = {
      organizationId,
      threadId,
      agentId: virtualMcpId,
      userId,
      apiKeyId: schedule.apiKeyId,
      grantId: schedule.grantId,
      requestId,
      tier,
      temperature: null,
      messages: [{ id: newId(), role: 'user' as const, parts: [{ type: 'text' as const, text: schedule.message }] }],
      idempotency: undefined,
    };
    const { runId, isHead } = await this.telemetry.withinScheduleTrace(schedule.id, requestId, (trace) =>
      this.posting.postRun({ ...run, trace }, { room, manager }).catch(rethrow),
    );
    await this.posting.markScheduled(manager, runId, schedule.id);
    return { runId, threadId, isHead };
  }
}

function rethrow(error: unknown): never {
  if (!(error instanceof DomainError)) throw error;
  switch (error.code) {
    case 'thread_not_found':
      throw new ScheduleObstacle('The thread was deleted.', true);
    case 'agent_mismatch':
      throw new ScheduleObstacle('The thread belongs to another agent.', true);
    case 'too_many_runs':
      throw new ScheduleObstacle('Too many runs are queued.', false);
    case 'rate_limited':
      throw new ScheduleObstacle('Too many runs were posted within a minute.', false);
    default:
      throw error;
  }
}
