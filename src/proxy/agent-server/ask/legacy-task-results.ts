import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { isOpenRunStatus } from '../../../core/run-status.js';
import { untilClosed } from '../../../platform/http/once-closed.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import type { WaitingEnd } from '../../../runtime/turns/run-waiting.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { rpcErrorBody } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { AskApprovals } from './ask-approvals.js';
import { toToolResult } from './ask-result.js';
import { AskedRuns, type AskExchange } from './asked-runs.js';
import { legacyTaskOf } from './legacy-ask-tasks.js';
import { SessionQuestions } from './session-questions.js';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** A request for the result of a task. */
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
