import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { isUuid } from '../../../core/ids.js';
import { isRecord } from '../../../core/is-record.js';
import { RunCancellationService } from '../../../runtime/runs/run-cancellation.service.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { SealedTaskIds } from '../../forwarding/tasks/sealed-task-ids.js';
import { unknownTask } from '../../forwarding/tasks/task-messages.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { AskApprovals, type RunQuestions } from './ask-approvals.js';
import { AskTasks, POLL_MS, timesOf } from './ask-tasks.js';
import type { AskCall } from './ask-tool.js';
import { type AskExchange, principalOf, toToolResult, AskedRuns } from './asked-runs.js';
import { AskedTasks } from './asked-tasks.repository.js';
import { isOpenRunStatus } from '../../../core/run-status.js';
import { untilClosed } from '../../../platform/http/once-closed.js';
import type { WaitingEnd } from '../../../runtime/turns/run-waiting.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { rpcErrorBody } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { SessionQuestions } from './session-questions.js';

const PAGE = 50;

/** A task as clients of the legacy era see it. */
interface LegacyTask {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttl: null;
  readonly pollInterval: number;
}

/** Runs of agents as tasks of the legacy era (MCP 2025-11-25, "Tasks"), with the handles of the modern era. */
@Injectable()
export class LegacyAskTasks {
  constructor(
    private readonly asks: AskTasks,
    private readonly tasks: AskedTasks,
    private readonly results: RunResultService,
    private readonly approvals: AskApprovals,
    private readonly cancellation: RunCancellationService,
    private readonly ids: SealedTaskIds,
  ) {}

  /** Starts the run, and returns its task. @throws DomainError `invalid_arguments`, and what `AskTool.begin` throws */
  async create(call: AskCall, task: unknown): Promise<object> {
    const { ttl } = isRecord(task) ? task : { ttl: null };
    if (ttl !== undefined && typeof ttl !== 'number') {
      throw new DomainError('invalid_arguments', '`params.task` must be an object, and its `ttl` a number.');
    }
    // Durable before the client gets the handle.
    const { run, handle } = await this.asks.start(call, (started) =>
      this.tasks.insert({ ...ownerOf(call.exchange), runId: started.run.id, handle: started.handle }),
    );
    return { task: legacyTaskOf(run, handle) };
  }

  /**
   * The answer to `tasks/get`.
   * @param canAsk true if the client gets the questions of the run with `tasks/result`
   * @throws DomainError `invalid_arguments` for an unknown task, `permission_denied`
   */
  async describe(exchange: AskExchange, taskId: unknown, canAsk: boolean): Promise<LegacyTask> {
    const run = await this.find(exchange, taskId);
    return legacyTaskOf(run, String(taskId), await this.approvals.questionsOf(exchange, run), canAsk);
  }

  /** The answer to `tasks/cancel`. @throws DomainError `invalid_arguments` for an unknown task, or one that is over */
  async cancel(exchange: AskExchange, taskId: unknown): Promise<LegacyTask> {
    const run = await this.find(exchange, taskId);
    if (isOver(run)) throw overAlready();
    await this.cancellation.cancelRun(run.id, principalOf(exchange));
    const cancelled = await this.find(exchange, taskId);
    // It may have ended at the same time.
    if (!isCancelled(cancelled)) throw overAlready();
    return legacyTaskOf(cancelled, String(taskId));
  }

  /** The answer to `tasks/list`: the caller's own, newest first. @throws DomainError `invalid_arguments` */
  async list(exchange: AskExchange, { cursor }: InboundRequest['params'], canAsk: boolean): Promise<object> {
    if (cursor !== undefined && (typeof cursor !== 'string' || !isUuid(cursor))) {
      throw new DomainError('invalid_arguments', 'Send the `nextCursor` of the previous page unchanged.');
    }
    const { caller } = exchange;
    const found = await this.tasks.findOwned(ownerOf(exchange), { before: cursor, limit: PAGE + 1 });
    const page = found.slice(0, PAGE);
    const ids = page.map(({ runId }) => runId);
    const runs = await this.results.findReadableAmong(principalOf(exchange), caller.connection.id, ids);
    const runOf = new Map(runs.map((run) => [run.id, run]));
    const tasks = page.flatMap(({ runId, handle }) => {
      const run = runOf.get(runId);
      const questions = run?.status === 'waiting' ? WAITS : undefined;
      return run === undefined ? [] : [legacyTaskOf(run, this.current(exchange, runId, handle), questions, canAsk)];
    });
    return { tasks, ...(found.length > PAGE && { nextCursor: page.at(-1)?.runId }) };
  }

  /** @throws DomainError `invalid_arguments` */
  async find(exchange: AskExchange, taskId: unknown): Promise<RunEntity> {
    const run = await this.asks.find(exchange, taskId);
    if (run === undefined) throw unknownTask();
    return run;
  }

  /** A handle opens until its key is removed; from then on, every list has a new one. */
  private current({ caller }: AskExchange, runId: string, handle: string): string {
    if (this.ids.find(caller, handle) !== undefined) return handle;
    return this.ids.seal(caller, { connectionId: caller.connection.id, tool: 'ask', taskId: runId });
  }
}

/** What a list says of a run that waits. */
const WAITS: RunQuestions = { statusMessage: 'Waits for approval.', requests: undefined };

/**
 * The run as a task. A run that has failed is a task that has failed, because the result of its tool is an error.
 * @param canAsk true if the client gets the questions with `tasks/result`
 */
function legacyTaskOf(run: RunEntity, taskId: string, questions?: RunQuestions, canAsk = false): LegacyTask {
  const statusMessage = questions?.statusMessage ?? run.error?.message;
  const asked = questions !== undefined && canAsk ? 'input_required' : 'working';
  // A task that is cancelled stays so, whatever its run comes to.
  const status = isCancelled(run) ? 'cancelled' : run.finishedAt === null ? asked : endOf(run);
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...timesOf(run),
    ttl: null,
    pollInterval: POLL_MS,
  };
}

function endOf({ status }: RunEntity): 'completed' | 'failed' {
  return status === 'completed' ? 'completed' : 'failed';
}

function isCancelled({ status, cancelRequestedAt }: RunEntity): boolean {
  return status === 'cancelled' || cancelRequestedAt !== null;
}

function isOver(run: RunEntity): boolean {
  return run.finishedAt !== null || isCancelled(run);
}

function overAlready(): DomainError {
  return new DomainError('invalid_arguments', 'The task is over, so it cannot be cancelled.');
}

function ownerOf(exchange: AskExchange): { readonly agentId: string; readonly owner: string } {
  return { agentId: exchange.caller.connection.id, owner: principalOf(exchange).callerId };
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

interface ResultRequest {
  /** As JSON text. */
  readonly id: string;
  readonly taskId: string;
  /** How long it waits for the end of the run. */
  readonly timeoutS: number;
  /** Of the client; undefined if it cannot be asked. */
  readonly session: Session | undefined;
  /** Aborted when the client cancels the request. */
  readonly cancelled: AbortSignal | undefined;
}

/** Answers `tasks/result` (MCP 2025-11-25): waits for the end of a run, and brings its questions to the client. */
@Injectable()
export class LegacyTaskResults {
  constructor(
    private readonly runs: AskedRuns,
    private readonly approvals: AskApprovals,
    private readonly questions: SessionQuestions,
  ) {}

  /** Yields messages of JSON-RPC, as text: changes of the status, questions, and the answer as the last one. */
  async *messages(exchange: AskExchange, run: RunEntity, request: ResultRequest): AsyncGenerator<string> {
    try {
      const end = isOpenRunStatus(run.status) ? yield* this.follow(exchange, run, request) : 'over';
      if (end === 'left') return;
      if (end !== 'over') throw notOver(end, request);
      const result = toToolResult(await this.runs.read(exchange, run.id), run);
      const _meta = { ...result._meta, ...relatedTo(request) };
      yield `{"jsonrpc":"2.0","id":${request.id},"result":${JSON.stringify({ ...result, _meta })}}`;
    } catch (error) {
      const body = rpcErrorBody(toProxyError(error), exchange.caller.requestId, false);
      yield `{"jsonrpc":"2.0","id":${request.id},"error":${JSON.stringify(body)}}`;
    }
  }

  private async *follow(
    exchange: AskExchange,
    run: RunEntity,
    request: ResultRequest,
  ): AsyncGenerator<string, WaitingEnd> {
    const { taskId, timeoutS, session, cancelled } = request;
    const closed = untilClosed(exchange.reply);
    const signal = cancelled === undefined ? closed : AbortSignal.any([closed, cancelled]);
    const asked = new Set<string>();
    let seen: string | undefined;
    const watching = this.runs.watch(exchange, run, { timeoutS, signal });
    try {
      let looked = await watching.next();
      for (; looked.done !== true; looked = await watching.next()) {
        const questions = await this.approvals.questionsNow(exchange, looked.value);
        const task = legacyTaskOf(looked.value, taskId, questions, session !== undefined);
        if (seen !== undefined && seen !== task.status) yield notificationOf(task);
        seen = task.status;
        if (session === undefined) continue;
        const requests = this.questions.requestsFor(session, run.id, questions, asked, relatedTo(request));
        for (const asking of requests) yield JSON.stringify(asking);
      }
      return looked.value;
    } finally {
      await watching.return('left');
    }
  }
}

function notificationOf(task: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: task });
}

function relatedTo({ taskId }: ResultRequest): object {
  return { [RELATED_TASK]: { taskId } };
}

/** The run goes on: its result can be asked for again. */
function notOver(end: WaitingEnd, { timeoutS }: ResultRequest): DomainError {
  if (end === 'late') {
    return new DomainError('gateway_timeout', `The task is not over after ${timeoutS} s. Ask for its result again.`);
  }
  if (end === 'revoked') return new DomainError('credential_invalid', 'The credential has ended or has changed.');
  return new DomainError('service_unavailable', 'The service restarts. Ask for the result of the task again.');
}
