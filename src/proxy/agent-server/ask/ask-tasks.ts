import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import type { Principal } from '../../../core/principal.js';
import { RunCancellationService } from '../../../runtime/runs/run-cancellation.service.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { SealedTaskIds } from '../../forwarding/tasks/sealed-task-ids.js';
import { requireTasksExtension, unknownTask } from '../../forwarding/tasks/task-messages.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { AskApprovals } from './ask-approvals.js';
import { toToolResult, AskedRuns, type AskExchange, principalOf } from './asked-runs.js';
import { type AskCall, AskTool } from './ask-tool.js';

export const POLL_MS = 1_000;

/** A run, and the id that its client gets. */
interface StartedTask {
  readonly run: RunEntity;
  readonly handle: string;
}

/**
 * Runs of agents as tasks (MCP 2026-07-28, tasks extension). A task is a run: its handle survives the end of every
 * process, and its approvals are requests for input.
 */
@Injectable()
export class AskTasks {
  constructor(
    private readonly tool: AskTool,
    private readonly runs: AskedRuns,
    private readonly results: RunResultService,
    private readonly approvals: AskApprovals,
    private readonly cancellation: RunCancellationService,
    private readonly ids: SealedTaskIds,
  ) {}

  /** Starts the run, and returns its task. @throws what `AskTool.begin` throws */
  async create(call: AskCall): Promise<object> {
    const { run, handle } = await this.start(call);
    return { resultType: 'task', ...taskOf(run, handle) };
  }

  /**
   * Starts the run of a task of either era. If its client cannot get a handle, the run is cancelled.
   * @param keep stores what the task needs besides its run
   * @throws what `AskTool.begin` throws
   */
  async start(call: AskCall, keep?: (task: StartedTask) => Promise<void>): Promise<StartedTask> {
    const { exchange, offer } = call;
    const started = await this.tool.begin(call);
    try {
      const place = { connectionId: exchange.caller.connection.id, tool: offer.name, taskId: started.id };
      const run = await this.results.findReadable(principalOf(exchange), started.id);
      const task = { run, handle: this.ids.seal(exchange.caller, place) };
      await keep?.(task);
      return task;
    } catch (error) {
      await this.tool.cancel(exchange, started);
      throw error;
    }
  }

  /**
   * The answer to a request about a task; undefined if the task is of another tool.
   * @throws DomainError `missing_capability`, `invalid_arguments` for an unknown task, `permission_denied`
   */
  async answer(exchange: AskExchange, message: InboundRequest): Promise<object | undefined> {
    const { method, params } = message;
    if (exchange.caller.principal !== undefined) requireTasksExtension(message);
    const run = await this.find(exchange, params['taskId']);
    if (run === undefined) return undefined;
    if (method === 'tasks/get') return this.describe(exchange, run, String(params['taskId']));
    if (method === 'tasks/cancel') await this.cancellation.cancelRun(run.id, principalOf(exchange));
    else await this.approvals.takeAnswers(exchange, run, params['inputResponses']);
    return {};
  }

  /**
   * The run of a task of either era; undefined for any id that is not of a run.
   * @throws DomainError `invalid_arguments` for an unknown task, `permission_denied`
   */
  async find({ caller }: AskExchange, taskId: unknown): Promise<RunEntity | undefined> {
    if (caller.principal === undefined) return undefined;
    const place = this.ids.find(caller, taskId);
    if (place?.connectionId !== caller.connection.id) return undefined;
    return this.findRun(caller.principal, place.taskId);
  }

  private async findRun(principal: Principal, id: string): Promise<RunEntity> {
    try {
      return await this.results.findReadable(principal, id);
    } catch (error) {
      // A client would take a 404 for a lost session.
      throw error instanceof DomainError && error.code === 'run_not_found' ? unknownTask() : error;
    }
  }

  /** What a run waits for. The input of a caller who must not approve would be refused, so it is not asked for. */
  private async describe(exchange: AskExchange, run: RunEntity, taskId: string): Promise<object> {
    const task = taskOf(run, taskId);
    const questions = await this.approvals.questionsOf(exchange, run);
    if (questions !== undefined) {
      const { statusMessage, requests } = questions;
      return { ...task, statusMessage, ...(requests && { status: 'input_required', inputRequests: requests }) };
    }
    if (run.finishedAt === null || run.status === 'cancelled') return task;
    return { ...task, result: toToolResult(await this.runs.read(exchange, run.id), run) };
  }
}

/** The state of the run as that of its task. A run that has failed is a result of its tool that says so. */
function taskOf(run: RunEntity, taskId: string): Record<string, unknown> {
  const { status, finishedAt } = run;
  const ended = status === 'cancelled' ? 'cancelled' : 'completed';
  const state = finishedAt === null ? 'working' : ended;
  return { taskId, status: state, ...timesOf(run), ttlMs: null, pollIntervalMs: POLL_MS };
}

/** When the task of a run was created, and when it changed, in either era. */
export function timesOf({ createdAt, startedAt, finishedAt }: RunEntity): {
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
} {
  return {
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (finishedAt ?? startedAt ?? createdAt).toISOString(),
  };
}
