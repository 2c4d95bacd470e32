import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import { HELD_PER_JSON_BYTE, type HeldAnswer } from '../../../core/answers/answer-budget.js';
import { DomainError } from '../../../core/domain-error.js';
import { isUuid } from '../../../core/ids.js';
import type { ListInput } from '../../../core/paging/list-input.js';
import { isOpenRunStatus, OPEN_RUN_STATUS_LIST, OPEN_RUN_STATUSES } from '../../../core/run-status.js';
import { AppConfig } from '../../../core/config/app-config.js';
import type { Principal } from '../../../core/principal.js';
import { LongReads } from '../../../platform/database/long-reads.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { type NameOf, Names } from '../../../core/names/names.js';
import { readCall } from './model-call.js';
import type { CallOfRun } from './model-recordings.js';
import type { AnsweredApprovalItem, PendingApprovalItem } from './approval.dto.js';
import { requireReadableTexts } from '../../threads/message-texts.js';
import { RunApprovals } from './run-approvals.js';
import { RunQuestions, RUN_LIST, RUN_TEXTS, runDuration } from './run-list.js';
import type { RunDetails, RunItem, RunPage } from './run.dto.js';
import { RunEntity } from './run.entity.js';
import { parseTraceparent } from '../../../platform/telemetry/trace-context.js';

export type RunState = Pick<RunEntity, 'id' | 'status'>;

/** The fields of a run that a stream needs. */
export type StreamableRun = Pick<RunEntity, 'id' | 'status' | 'startedAt' | 'finishedAt'>;

/** What a run has come to, and where its answer is. */
export type RunOutcome = Pick<
  RunEntity,
  'id' | 'organizationId' | 'threadId' | 'messageId' | 'status' | 'usage' | 'error'
>;

const OUTCOME = {
  name: 'run_outcome',
  text: `
    SELECT id, organization_id AS "organizationId", thread_id AS "threadId", message_id AS "messageId", status, usage,
           error
      FROM runs WHERE organization_id = $1 AND id = $2`,
};

const STREAMABLE = 'id, status, started_at AS "startedAt", finished_at AS "finishedAt"';

const TURN = {
  name: 'run_turn',
  text: `
    (SELECT ${STREAMABLE}, true AS open FROM runs
      WHERE organization_id = $1 AND thread_id = $2 AND status IN (${OPEN_RUN_STATUS_LIST}) ORDER BY position LIMIT 1)
    UNION ALL
    (SELECT ${STREAMABLE}, false FROM runs
      WHERE organization_id = $1 AND thread_id = $2 AND status NOT IN (${OPEN_RUN_STATUS_LIST}) ORDER BY position DESC
        LIMIT 1)`,
};

const AFTER = {
  name: 'run_after',
  text: `
    SELECT ${STREAMABLE} FROM runs
     WHERE organization_id = $1 AND thread_id = $2 AND position > coalesce((SELECT position FROM runs WHERE id = $3), 0)
     ORDER BY position LIMIT 1`,
};

const BUSY_AMONG = {
  name: 'run_busy_among',
  text: `SELECT id FROM runs WHERE id = ANY($1::uuid[]) AND status IN ('queued', 'running')`,
};

/** Queries about runs, within one organization if nothing else is said. */
@Injectable()
export class RunReader {
  constructor(
    @InjectRepository(RunEntity) private readonly runs: Repository<RunEntity>,
    private readonly statements: PreparedStatements,
    private readonly names: Names,
    private readonly reads: LongReads,
    private readonly approvals: RunApprovals,
    private readonly questions: RunQuestions,
    private readonly config: AppConfig,
  ) {}

  /** @throws DomainError `run_not_found` */
  async getRun(caller: Principal, id: string, answer?: HeldAnswer): Promise<RunDetails> {
    const run = await this.findDetailed(caller.organization.id, id);
    if (run === null) throw new DomainError('run_not_found', 'There is no run with this id in the organization.');
    const toItem = await this.itemsOf(caller, [run], answer);
    if (run.output !== null) answer?.reserve(Buffer.byteLength(JSON.stringify(run.output)) * HELD_PER_JSON_BYTE);
    return {
      ...toItem(run),
      output: run.output,
      model_calls: run.modelCalls.map(readCall),
    };
  }

  /**
   * The model call with this number in the run's `model_calls`, from 1, as a recording names it.
   * @throws DomainError `run_not_found`, `not_found`
   */
  async findModelCall({ organization }: Principal, id: string, number: number): Promise<CallOfRun> {
    const run = await this.findDetailed(organization.id, id);
    if (run === null) throw new DomainError('run_not_found', 'There is no run with this id in the organization.');
    const calls = run.modelCalls.map(readCall);
    const attempt = calls[number - 1]?.attempt;
    if (attempt === undefined) throw new DomainError('not_found', `The run has ${calls.length} ended model calls.`);
    const ordinal = calls.slice(0, number).filter((call) => call.attempt === attempt).length;
    return { runId: run.id, attempt, ordinal };
  }

  /** @throws DomainError `permission_denied` for a search that needs to read messages, and as `LongReads.page` */
  async listRuns(caller: Principal, input: ListInput, answer: HeldAnswer): Promise<RunPage> {
    requireReadableTexts(caller, input.where, RUN_TEXTS);
    const organizationId = caller.organization.id;
    const queryOf = (manager: EntityManager) =>
      manager.createQueryBuilder(RunEntity, 'run').where('run.organizationId = :organizationId', { organizationId });
    const page = await this.reads.page(organizationId, queryOf, RUN_LIST, input, answer);
    const toItem = await this.itemsOf(caller, page.items, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  /** The approvals that these runs wait for, by run. @throws DomainError `answer_memory_exhausted` */
  pendingOf(
    runs: readonly RunState[],
    answer: HeldAnswer | undefined,
  ): Promise<ReadonlyMap<string, PendingApprovalItem[]>> {
    // A running run has open approvals while other calls of its step are made.
    const asking = runs.filter(({ status }) => status === 'waiting' || status === 'running');
    return this.approvals.findPending(
      asking.map(({ id }) => id),
      answer,
    );
  }

  /** The answers to the approvals of a run, until it is over. */
  async answeredOf({ id, status }: RunState): Promise<AnsweredApprovalItem[]> {
    return isOpenRunStatus(status) ? this.approvals.findAnswered(id) : [];
  }

  async findRun(organizationId: string, id: string): Promise<RunEntity | null> {
    return isUuid(id) ? this.runs.findOneBy({ organizationId, id }) : null;
  }

  /** The fields of a result only, which takes less time than `findRun`. @param id a UUID */
  async findOutcome(organizationId: string, id: string): Promise<RunOutcome | undefined> {
    const [outcome] = await this.statements.rowsByKey<RunOutcome>(OUTCOME, [organizationId, id]);
    return outcome;
  }

  async findAmong(organizationId: string, ids: readonly string[]): Promise<RunEntity[]> {
    return ids.length === 0 ? [] : this.runs.findBy({ organizationId, id: In(ids) });
  }

  /** True if the key has posted a run on the thread. */
  hasRunOf(organizationId: string, threadId: string, apiKeyId: string): Promise<boolean> {
    return this.runs.existsBy({ organizationId, threadId, apiKeyId });
  }

  /** The run that has asked for this approval; null for none in the organization. */
  async findOfApproval(organizationId: string, approvalId: string): Promise<RunEntity | null> {
    if (!isUuid(approvalId)) return null;
    const ofApproval = 'run.id = (SELECT run_id FROM run_approvals WHERE id = :approvalId)';
    const query = this.runs.createQueryBuilder('run').where('run.organizationId = :organizationId', { organizationId });
    return query.andWhere(ofApproval, { approvalId }).getOne();
  }

  /** With its output and its model calls. */
  private async findDetailed(organizationId: string, id: string): Promise<RunEntity | null> {
    if (!isUuid(id)) return null;
    const query = this.runs.createQueryBuilder('run').addSelect(['run.modelCalls', 'run.output']);
    return query.where('run.organizationId = :organizationId AND run.id = :id', { organizationId, id }).getOne();
  }

  /** Reads what the items of these runs contain apart from the runs. @throws DomainError `answer_memory_exhausted` */
  private async itemsOf(
    caller: Principal,
    runs: readonly RunEntity[],
    answer: HeldAnswer | undefined,
  ): Promise<(run: RunEntity) => RunItem> {
    const nameOf = await this.names.find(runs.flatMap(({ userId, apiKeyId }) => [userId, apiKeyId]));
    const pending = await this.pendingOf(runs, answer);
    const questions = await this.questions.find(
      caller,
      runs.map(({ id }) => id),
    );
    return (run) => ({
      ...toRunItem(run, nameOf, pending.get(run.id)),
      question: questions.get(run.id) ?? null,
      ...traceOf(run.traceparent, this.config.settings.traceUrl),
    });
  }

  /** @throws DomainError `run_not_found` unless the run is on this thread */
  async getOnThread(organizationId: string, threadId: string, id: string): Promise<RunEntity> {
    const run = await this.findRun(organizationId, id);
    if (run === null || run.threadId !== threadId) {
      throw new DomainError('run_not_found', 'There is no run with this taskId on the thread.');
    }
    return run;
  }

  /** The run that was posted to the thread last; undefined without any. */
  async findLastId(organizationId: string, threadId: string): Promise<string | undefined> {
    const where = { organizationId, threadId };
    return (await this.runs.findOne({ select: { id: true }, where, order: { position: 'DESC' } }))?.id;
  }

  /** The runs of a thread that are not finished, in their order. */
  findOpen(organizationId: string, threadId: string): Promise<RunEntity[]> {
    return this.runs.find({
      where: { organizationId, threadId, status: In(OPEN_RUN_STATUSES) },
      order: { position: 'ASC' },
    });
  }

  /** Those of these runs that are queued or running, and not waiting for approvals, of whichever organization. */
  async findBusyAmong(ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.statements.rows<{ id: string }>(BUSY_AMONG, [ids]);
    return new Set(rows.map(({ id }) => id));
  }

  /** The statuses of those of these runs that are stored, of whichever organization. */
  async findStatuses(ids: readonly string[]): Promise<Map<string, RunEntity['status']>> {
    if (ids.length === 0) return new Map();
    const rows: RunState[] = await this.runs.query('SELECT id, status FROM runs WHERE id = ANY($1::uuid[])', [ids]);
    return new Map(rows.map(({ id, status }) => [id, status]));
  }

  /**
   * Where a stream on this thread begins: the running run, or the first queued one; and the last finished run. Both
   * come from one snapshot, so that without a current run nothing was posted after the last one.
   */
  async findTurn(organizationId: string, threadId: string): Promise<{ current?: StreamableRun; last?: StreamableRun }> {
    const values = [organizationId, threadId];
    const runs = await this.statements.rowsByKey<StreamableRun & { open: boolean }>(TURN, values);
    return { current: runs.find(({ open }) => open), last: runs.find(({ open }) => !open) };
  }

  /**
   * The next run that was posted to the thread after this one, whatever its status; without a run, the thread's first.
   */
  async findAfter(
    thread: { organizationId: string; threadId: string },
    runId: string | undefined,
  ): Promise<StreamableRun | undefined> {
    const values = [thread.organizationId, thread.threadId, runId ?? null];
    const [next] = await this.statements.rowsByKey<StreamableRun>(AFTER, values);
    return next;
  }
}

function toRunItem(
  run: RunEntity,
  nameOf: NameOf,
  pending: PendingApprovalItem[] = [],
): Omit<RunItem, keyof RunTrace | 'question'> {
  return {
    id: run.id,
    thread_id: run.threadId,
    agent_id: run.agentId,
    user_id: run.userId,
    user_email: nameOf(run.userId),
    api_key_id: run.apiKeyId,
    key_name: nameOf(run.apiKeyId),
    status: run.status,
    tier: run.tier,
    temperature: run.temperature,
    model: run.model,
    message_id: run.messageId,
    error: run.error,
    usage: run.usage,
    tools: run.tools,
    duration_ms: runDuration(run),
    cost_usd: run.costUsd,
    finish_reason: run.finishReason,
    attempt: run.attempt,
    steps: run.step,
    request_id: run.requestId,
    schedule_id: run.scheduleId,
    metadata: run.metadata,
    pending_approvals: pending,
    started_at: run.startedAt?.toISOString() ?? null,
    finished_at: run.finishedAt?.toISOString() ?? null,
    created_at: run.createdAt.toISOString(),
    updated_at: run.updatedAt.toISOString(),
  };
}

/** The trace of a run, for callers. */
interface RunTrace {
  trace_id: string | null;
  trace_url: string | null;
}

const SAMPLED = 0x01;
const NO_TRACE: RunTrace = { trace_id: null, trace_url: null };

/**
 * The trace that the attempts of a run continue. A trace that is not sampled is not exported, so callers do not see its
 * id.
 * @param template the setting `TRACE_URL`
 */
function traceOf(traceparent: string | null, template: string | undefined): RunTrace {
  const trace = traceparent === null ? undefined : parseTraceparent(traceparent);
  if (trace === undefined || (trace.flags & SAMPLED) === 0) return NO_TRACE;
  return { trace_id: trace.traceId, trace_url: template?.replaceAll('{traceId}', trace.traceId) ?? null };
}
