import { Injectable } from '@nestjs/common';
import { isRecord } from '../../../core/is-record.js';
import { allows, SELF } from '../../../core/permissions.js';
import { DomainError } from '../../../core/domain-error.js';
import type { Principal } from '../../../core/principal.js';
import { requirePermission } from '../../../core/require-permission.js';
import { validateArguments } from '../../../core/validation/validate-input.js';
import { ApprovalRequest, MAX_REASON_LENGTH } from '../../../runtime/approvals/approval.dto.js';
import { ApprovalService } from '../../../runtime/approvals/approval.service.js';
import { RunCancellationService } from '../../../runtime/runs/run-cancellation.service.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import type { RunResult } from '../../../runtime/turns/run-result.dto.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { SealedTaskIds } from '../../forwarding/tasks/sealed-task-ids.js';
import { unknownTask } from '../../forwarding/tasks/task-requests.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { toToolResult } from './ask-result.js';
import { type AskCall, AskTool } from './ask-tool.js';
import { AskedRuns, type AskExchange, principalOf } from './asked-runs.js';

const APPROVE = 'RUN_APPROVE';
const POLL_MS = 1_000;
/** How much of a call's arguments a question shows. */
const MAX_ARGUMENTS_LENGTH = 4_000;
/** The fields of an answer to a request for an approval. */
const APPROVAL_SCHEMA = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Approve the call' },
    reason: { type: 'string', title: 'Reason', maxLength: MAX_REASON_LENGTH },
  },
  required: ['approve'],
};

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
    private readonly approvals: ApprovalService,
    private readonly cancellation: RunCancellationService,
    private readonly ids: SealedTaskIds,
  ) {}

  /** Starts the run, and returns its task. @throws what `AskTool.begin` throws */
  async create(call: AskCall): Promise<object> {
    const { exchange, offer } = call;
    const { id } = await this.tool.begin(call);
    const place = { connectionId: exchange.caller.connection.id, tool: offer.name, taskId: id };
    const run = await this.results.findReadable(principalOf(exchange), id);
    return { resultType: 'task', ...taskOf(run, this.ids.seal(exchange.caller, place)) };
  }

  /**
   * The answer to a request about a task; undefined if the task is of another tool.
   * @throws DomainError `invalid_arguments` for an unknown task, `permission_denied`
   */
  async answer(exchange: AskExchange, { method, params }: InboundRequest): Promise<object | undefined> {
    const { caller } = exchange;
    if (caller.principal === undefined) return undefined;
    const place = this.ids.find(caller, params['taskId']);
    if (place?.connectionId !== caller.connection.id) return undefined;
    const run = await this.findRun(caller.principal, place.taskId);
    if (method === 'tasks/get') return this.describe(exchange, run, String(params['taskId']));
    if (method === 'tasks/cancel') await this.cancellation.cancelRun(run.id, caller.principal);
    else await this.takeAnswers(exchange, run, params['inputResponses']);
    return {};
  }

  private async findRun(principal: Principal, id: string): Promise<RunEntity> {
    try {
      return await this.results.findReadable(principal, id);
    } catch (error) {
      // A client would take a 404 for a lost session.
      throw error instanceof DomainError && error.code === 'run_not_found' ? unknownTask() : error;
    }
  }

  private async describe(exchange: AskExchange, run: RunEntity, taskId: string): Promise<object> {
    const task = taskOf(run, taskId);
    if (run.status === 'waiting') return { ...task, ...(await this.questionsOf(exchange, run)) };
    if (run.finishedAt === null || run.status === 'cancelled') return task;
    return { ...task, result: toToolResult(await this.runs.read(exchange, run.id), run) };
  }

  /** What a run waits for. The input of a caller who must not approve would be refused, so it is not asked for. */
  private async questionsOf(exchange: AskExchange, { id }: RunEntity): Promise<object> {
    const { pending_approvals: pending } = await this.runs.read(exchange, id);
    if (pending.length === 0) return {};
    const statusMessage = `Waits for approval of ${pending.map(({ tool_name: name }) => name).join(', ')}.`;
    if (!allows(principalOf(exchange).permissions, SELF, APPROVE)) return { statusMessage };
    const inputRequests = Object.fromEntries(pending.map((approval) => [approval.id, questionFor(approval)]));
    return { status: 'input_required', statusMessage, inputRequests };
  }

  /** Answers for what is not asked are ignored, as the extension demands. */
  private async takeAnswers(exchange: AskExchange, run: RunEntity, responses: unknown): Promise<void> {
    if (!isRecord(responses)) throw new DomainError('invalid_arguments', '`inputResponses` must be an object.');
    const principal = principalOf(exchange);
    requirePermission(principal, APPROVE);
    const { pending_approvals: pending } = await this.runs.read(exchange, run.id);
    // All of them are checked before one counts.
    const answers = pending.flatMap(({ id }) => {
      const answer = Object.hasOwn(responses, id) ? verdictOf(responses[id]) : undefined;
      return answer === undefined ? [] : [[id, answer] as const];
    });
    for (const [approvalId, answer] of answers) {
      try {
        await this.approvals.answer({ threadId: run.threadId, approvalId }, answer, principal);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'approval_closed') throw error;
      }
    }
  }
}

/** The state of the run as that of its task. A run that has failed is a result of its tool that says so. */
function taskOf({ status, createdAt, startedAt, finishedAt }: RunEntity, taskId: string): Record<string, unknown> {
  const isOver = finishedAt !== null;
  const ended = status === 'cancelled' ? 'cancelled' : 'completed';
  const times = {
    createdAt: createdAt.toISOString(),
    lastUpdatedAt: (finishedAt ?? startedAt ?? createdAt).toISOString(),
  };
  return { taskId, status: isOver ? ended : 'working', ...times, ttlMs: null, pollIntervalMs: POLL_MS };
}

function questionFor(approval: RunResult['pending_approvals'][number]): object {
  const { tool_name: name, connection_title: title, connection_host: host, input } = approval;
  const of = [title, host && `(${host})`].filter(Boolean).join(' ');
  const args = JSON.stringify(input);
  const rest = args.length - MAX_ARGUMENTS_LENGTH;
  const shown = args.slice(0, MAX_ARGUMENTS_LENGTH).toWellFormed();
  const cut = rest > 0 ? `… (${rest} more characters, which the console shows)` : '';
  const message = `The agent asks to call ${name}${of && ` of ${of}`} with the arguments ${shown}${cut}`;
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: APPROVAL_SCHEMA } };
}

/**
 * What a person has answered; undefined for a cancelled question, which stays open.
 * @throws DomainError `invalid_arguments`
 */
function verdictOf(response: unknown): ApprovalRequest | undefined {
  const { action, content } = isRecord(response) ? response : {};
  if (action === 'cancel') return undefined;
  if (action === 'decline') return { approved: false };
  if (action !== 'accept') throw new DomainError('invalid_arguments', '`action` must be accept, decline or cancel.');
  const { approve: approved, reason } = isRecord(content) ? content : {};
  // Forms send empty texts for fields that were left out.
  return validateArguments(ApprovalRequest, { approved, ...(reason !== undefined && reason !== '' && { reason }) });
}
