import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { type InvocationOutcome, outcomeOf, resultOf } from '../../upstreams/invocation.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { forwardedHeaders, traceContextOf } from '../protocol/mcp-headers.js';
import { relayAnswer } from './relay/relay-answer.js';
import type { CallerFilter } from './relay/tool-list-filter.js';
import { SessionOpening } from './session-opening.js';
import { createdTask } from './tasks/task-messages.js';
import { TaskOwners } from './tasks/task-owners.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { ReplyWriter } from './reply-writer.js';
import { type Dispatch, UpstreamSender } from './upstream-sender.js';
import { ToolCalls } from './tool-calls.js';

/** The requests whose answers list what not every caller may see. */
const LISTS: ReadonlySet<string> = new Set(['tools/list', 'tasks/list']);

/** Of sessions only; the modern revision reads results with `tasks/get` (SEP-2663). */
const LEGACY_TASK_RESULT = 'tasks/result';

/** What happens to a request on its way: what it needs sent along, and where its end is told. */
interface Measured {
  readonly traceHeaders: Readonly<Record<string, string>>;
  settle(outcome: InvocationOutcome, result?: unknown): Promise<void>;
}

/** One request of the MCP transport: to the upstream, and its answer back to the caller. */
@Injectable()
export class RequestForwarder {
  constructor(
    private readonly toolCalls: ToolCalls,
    private readonly telemetry: ProxyTelemetry,
    private readonly sender: UpstreamSender,
    private readonly sessions: SessionOpening,
    private readonly catalog: ToolCatalog,
    private readonly tasks: TaskOwners,
    private readonly writer: ReplyWriter,
  ) {}

  /**
   * @param acceptsStream may the answer be an event stream? If not, it is gathered into one JSON body
   * @throws DomainError
   */
  async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    door: AuditDoor,
    dispatch: Omit<Dispatch, 'headers'> & { message: InboundRequest },
    acceptsStream = request.headers.accept?.includes('text/event-stream') === true,
  ): Promise<void> {
    const { message, route, scope, caller } = dispatch;
    const measured =
      message.method === 'tools/call'
        ? await this.toolCalls.admit(request, door, dispatch)
        : this.measure(request, dispatch);
    try {
      requireActive(caller.connection);
      if (message.method.startsWith('tasks/') && !caller.holdsAll) {
        if (route.kind === 'stateless' && message.method === LEGACY_TASK_RESULT) {
          throw new DomainError('unknown_method', 'This revision of the protocol has no such method.');
        }
        await this.tasks.admit(caller, message);
      }
      const headers = { ...headersFor(request, route), ...measured.traceHeaders };
      const { answer, sentId } = await this.sender.send({ ...dispatch, headers });
      if (route.kind === 'opening') announce(() => this.sessions.announce(reply, answer, dispatch), answer);
      const relayed = await relayAnswer(answer, {
        callerId: message.id,
        sentId,
        acceptsStream,
        requestId: request.id,
        filter: this.filterFor(dispatch),
        isList: LISTS.has(message.method),
        rewriteEvent: route.kind === 'session' ? route.rewriteEvent : undefined,
        onListChanged: () => this.toolCalls.listChanged(dispatch),
        explain: (error) => scope.explain(error),
        settle: (outcome, answer) => this.settle(dispatch, measured, outcome, answer),
      });
      if (reply.raw.destroyed) throw abandoned(answer);
      this.writer.write(request, reply, relayed, answer.headers);
    } catch (error) {
      const cause = scope.explain(error);
      await measured.settle(outcomeOf(cause));
      throw toProxyError(cause);
    }
  }

  /** Resolves when what has to be known of the answer before it leaves is stored. */
  private settle(
    { caller, message }: { caller: ProxyCaller; message: InboundRequest },
    measured: Measured,
    outcome: InvocationOutcome,
    answer: Record<string, unknown> | undefined,
  ): Promise<void> {
    const settled = measured.settle(outcome, answer && resultOf(answer));
    if (answer === undefined || message.method !== 'tools/call' || caller.holdsAll) return settled;
    const task = createdTask(answer);
    if (task === undefined) return settled;
    return this.tasks.remember(caller, String(message.params['name']), task).then(() => settled);
  }

  private measure(request: FastifyRequest, { caller, message }: Omit<Dispatch, 'headers'>): Measured {
    const measured = this.telemetry.begin({
      connectionId: caller.connection.id,
      toolName: '',
      toolLabel: '',
      method: message.method ?? '',
      requestId: request.id,
      streamable: false,
      incoming: traceContextOf(request.headers),
    });
    return {
      traceHeaders: measured.headers,
      settle: async ({ status, errorCode }) =>
        measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined }),
    };
  }

  /** What comes passes as it is to a caller who may call everything. */
  private filterFor({ caller, message, route }: Omit<Dispatch, 'headers'>): CallerFilter | undefined {
    if (caller.holdsAll) return undefined;
    const isList = message.method === 'tools/list';
    const isEveryonesList = isList && route.kind === 'shared' && asksForAll(message.params);
    return {
      shows: (tool) => caller.sees(tool),
      ownsTask: (taskId) => this.tasks.owns(caller, taskId),
      ...(isEveryonesList && { onComplete: (tools) => this.catalog.learn(caller.connection, tools) }),
    };
  }
}

/** What else a caller asks with may make it another list than everybody's. */
function asksForAll({ _meta: meta = {}, ...others }: InboundRequest['params']): boolean {
  return Object.keys(others).length === 0 && Object.keys(meta as object).every((name) => name === 'progressToken');
}

/** Does the work, or lets go of the answer that nobody will read. */
function announce(work: () => void, answer: UpstreamAnswer): void {
  try {
    work();
  } catch (error) {
    discard(answer.body);
    throw error;
  }
}

/** A caller that is gone reads nothing, and a stream that nobody reads would never end. */
function abandoned(answer: UpstreamAnswer): UpstreamError {
  discard(answer.body);
  return new UpstreamError('cancelled', 'The caller went away.');
}

/** Sessions and the modern era bring MCP headers of their own; in a shared session the service's own ones count. */
export function headersFor(request: FastifyRequest, route: Dispatch['route']): Record<string, string> {
  const own = { 'x-request-id': request.id };
  if (route.kind === 'shared') return own;
  const given = 'headers' in route ? route.headers : undefined;
  return { ...(given ?? forwardedHeaders(request.headers)), ...own };
}
