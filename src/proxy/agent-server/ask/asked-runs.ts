import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { DomainError } from '../../../core/domain-error.js';
import { AnswerBudget, holdUntilSent } from '../../../core/answers/answer-budget.js';
import type { Principal } from '../../../core/principal.js';
import { requireRunAccess } from '../../../core/run-access.js';
import { isOpenRunStatus } from '../../../core/run-status.js';
import { validateArguments } from '../../../core/validation/validate-input.js';
import { OpenCredentials } from '../../../identity/credentials/open-credentials.js';
import { RequestLimits } from '../../../platform/limits/request-limits.js';
import { incomingTrace, validTraceContext } from '../../../platform/telemetry/trace-context.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import { RunRequestService } from '../../../runtime/runs/run-request.service.js';
import { ThreadService } from '../../../runtime/threads/thread.service.js';
import type { RunResult } from '../../../runtime/turns/run-result.dto.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { RunWaiting, type WaitingEnd } from '../../../runtime/turns/run-waiting.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import { credentialMissing } from '../../protocol/proxy-caller.js';
import { AskInput } from './ask-definition.js';
import { METADATA_KEY } from '../../../upstreams/catalog/tool-list.js';

const MAX_TITLE_LENGTH = 80;
/** How often a waiting request looks at its run. */
const PROGRESS_MS = 5_000;
/** How often it looks at a run that waits for approvals. */
const APPROVAL_LOOK_MS = 1_000;
/** The type of a file whose address says more. */
const ANY_TYPE = 'application/octet-stream';

/** A run that a call of the agent's own tool has started. */
export interface AskedRun {
  readonly id: string;
  readonly threadId: string;
}

/** A request about such a run. */
export type AskExchange = Pick<McpRequestContext, 'caller' | 'request' | 'reply' | 'entryPoint' | 'message'>;

/** How long a request waits. */
interface Waiting {
  readonly timeoutS: number;
  readonly signal: AbortSignal;
}

/** The runs of agents that are called as tools, on threads of their callers. */
@Injectable()
export class AskedRuns {
  constructor(
    private readonly threads: ThreadService,
    private readonly requests: RunRequestService,
    private readonly limits: RequestLimits,
    private readonly waiting: RunWaiting,
    private readonly results: RunResultService,
    private readonly budget: AnswerBudget,
    private readonly credentials: OpenCredentials,
  ) {}

  /** @throws DomainError `credential_missing`, `permission_denied`, `invalid_arguments`, and what posting throws */
  async start(exchange: AskExchange, args: unknown): Promise<AskedRun> {
    const { caller, request, reply } = exchange;
    const principal = principalOf(exchange);
    const { id: agentId } = caller.connection;
    requireRunAccess(principal, agentId);
    const { message, thread_id: existing, files = [] } = validateArguments(AskInput, args);
    if (existing !== undefined) await this.requireReachable(principal, existing);
    await this.limits.countRun(principal, reply);
    const title = message.trim().slice(0, MAX_TITLE_LENGTH).toWellFormed();
    const threadId = existing ?? (await this.threads.create({ title, virtual_mcp_id: agentId }, principal)).id;
    const attached = files.map((url) => ({ type: 'file' as const, url, mediaType: ANY_TYPE }));
    const parts = [{ type: 'text' as const, text: message }, ...attached];
    const trace = validTraceContext(incomingTrace(request.headers));
    const call = { caller: principal, requestId: request.id, trace, idempotencyKey: undefined };
    try {
      const run = { messages: [{ role: 'user' as const, parts }], agent: { id: agentId } };
      const { taskId } = await this.requests.requestRun(threadId, run, call);
      return { id: taskId, threadId };
    } catch (error) {
      if (existing === undefined) await this.threads.delete(threadId, principal).catch(() => undefined);
      throw error;
    }
  }

  /** Yields the open run regularly, also while it waits for approvals, and returns why it does so no longer. */
  async *watch(exchange: AskExchange, run: AskedRun, waiting: Waiting): AsyncGenerator<RunEntity, WaitingEnd> {
    const { timeoutS, signal } = waiting;
    const caller = principalOf(exchange);
    const awaited = { ...run, organizationId: caller.organization.id };
    const endsAt = performance.now() + timeoutS * 1000;
    const { promise: stopped, resolve: stop } = Promise.withResolvers<WaitingEnd>();
    if (signal.aborted) stop('left');
    signal.addEventListener('abort', () => stop('left'), { once: true });
    let isAsking = false;
    // All the time: between two waits, nothing else watches the credential.
    const unwatch = this.credentials.watchPermissions(caller, () => stop('revoked'));
    try {
      for (;;) {
        const leftMs = endsAt - performance.now();
        if (leftMs <= 0) return 'late';
        const request = { caller, reply: exchange.reply };
        // A run that waits is at rest for `untilOver`, and no event tells that an approval is answered.
        const waited = isAsking
          ? this.waiting.pause({ ...request, withinMs: Math.min(APPROVAL_LOOK_MS, leftMs) })
          : this.waiting.untilOver(awaited, { ...request, withinMs: Math.min(PROGRESS_MS, leftMs) });
        const end = await Promise.race([stopped, waited]);
        if (end !== 'over' && end !== 'late') return end;
        const current = await this.results.findReadable(caller, run.id);
        if (!isOpenRunStatus(current.status)) return 'over';
        yield current;
        isAsking = current.status === 'waiting';
      }
    } finally {
      unwatch();
    }
  }

  /**
   * A credential for one resource reaches only threads of its own person, because other routes would not open them to
   * it; one of a client that acts for no person, those on which that client has posted.
   * @throws DomainError `thread_not_found`
   */
  private async requireReachable(caller: Principal, threadId: string): Promise<void> {
    if (caller.resource === undefined) return;
    const { createdBy } = await this.threads.findThread(caller.organization.id, threadId);
    const isOwn = caller.userId === null ? this.results.hasPosted(caller, threadId) : createdBy === caller.userId;
    if (await isOwn) return;
    throw new DomainError('thread_not_found', 'There is no thread with this id that the credential opens.');
  }

  /** What the run has come to. @throws DomainError `run_not_found`, `permission_denied`, `answer_memory_exhausted` */
  async read(exchange: AskExchange, runId: string): Promise<RunResult> {
    const caller = principalOf(exchange);
    const run = await this.results.findReadable(caller, runId);
    const answer = this.budget.openAnswer(caller);
    return holdUntilSent(answer, exchange.reply, (held) => this.results.read(run.organizationId, run.id, held));
  }
}

/** @throws DomainError `credential_missing` */
export function principalOf({ caller: { principal } }: AskExchange): Principal {
  if (principal === undefined) throw credentialMissing();
  return principal;
}

/** The result of the call that has started this run, once it is over. */
export function toToolResult({ status, message, output, error }: RunResult, run: AskedRun): CallToolResult {
  const texts =
    status === 'completed'
      ? [output === null ? answerIn(message?.parts ?? []) : JSON.stringify(output)]
      : [error?.message ?? `The run was ${status}.`];
  const content: CallToolResult['content'] = texts.map((text) => ({ type: 'text', text }));
  if (status !== 'completed') return namingRun({ isError: true, content }, run);
  return namingRun({ content, ...(output !== null && { structuredContent: output }) }, run);
}

/** The result with the ids of the run, also where it does not say what the run has come to. */
export function namingRun(result: CallToolResult, { id, threadId }: AskedRun): CallToolResult {
  // A model continues the conversation with it.
  const text = `thread_id: ${threadId}`;
  const named = { type: 'text' as const, text, annotations: { audience: ['assistant' as const] } };
  const _meta = { [METADATA_KEY]: { task_id: id, thread_id: threadId } };
  return { ...result, content: [...result.content, named], _meta };
}

/** What the agent says in the last step in which it says anything. */
function answerIn(parts: readonly object[]): string {
  const steps: string[] = [''];
  for (const { type, text } of parts as readonly { readonly type: string; readonly text?: unknown }[]) {
    if (type === 'step-start') steps.push('');
    else if (type === 'text' && typeof text === 'string') steps.push((steps.pop() ?? '') + text);
  }
  return steps.findLast((text) => text.trim() !== '') ?? '';
}
