import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { requireActive } from '../../connections/connection.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { type InvocationOutcome, outcomeOf, resultOf, type Invocation } from '../../upstreams/invocation.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { declaresApps, declaresUrlElicitation, answeredRequests } from '../protocol/client-capabilities.js';
import {
  type InboundRequest,
  forwardedHeaders,
  isModernMessage,
  isSubscription,
  takesStream,
} from '../protocol/inbound-message.js';
import { incomingTrace } from '../../platform/telemetry/trace-context.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import { type McpRequestContext, type Route, hasOwnTools } from './upstream-router.js';
import { AskedClients } from './asked-clients/asked-client.js';
import { CallerFilters } from './caller-filters.js';
import { ReplyWriter } from './reply-writer.js';
import { declaresCapabilities, toStoredInitialize, SealedSessions } from './session/sealed-sessions.js';
import { SessionTools, pooledSession } from './session/session-tools.js';
import { standInFor, standInRefusal } from './sign-in-stand-in.js';
import { createdTask } from './tasks/task-messages.js';
import { TaskOwners } from './tasks/task-owners.js';
import { type MessageSender, type Sent, sessionAtUpstream } from './upstream-sender.js';
import { relayEvents } from './relay/relay-events.js';
import { relayJson } from './relay/relay-json.js';
import type { RelayedAnswer, RelayPlan } from './relay/relay-plan.js';
import { DomainError } from '../../core/domain-error.js';
import { networkOf } from '../../core/network-of.js';
import { announceLimits } from '../../platform/limits/rate-limits.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { credentialMissing } from '../protocol/proxy-caller.js';
import { SIGN_IN } from '../protocol/sign-in-tool.js';

/** A request that can be sent: the headers that are added to the upstream request, and how to report the outcome. */
type Admission = Pick<Invocation, 'traceHeaders' | 'settle'>;

/** Decides whether a request may be sent. `ToolInvoker` admits and records tool calls; other requests are measured. */
@Injectable()
export class RequestAdmission {
  constructor(
    private readonly invoker: ToolInvoker,
    private readonly telemetry: ProxyTelemetry,
    private readonly sessionTools: SessionTools,
    private readonly catalog: ToolCatalog,
  ) {}

  /** @throws DomainError if a tool call is refused */
  async admit(context: McpRequestContext<InboundRequest>): Promise<Admission> {
    return context.message.method === 'tools/call' ? this.admitToolCall(context) : this.measure(context);
  }

  private measure({ request, caller, message }: McpRequestContext<InboundRequest>): Admission {
    const measured = this.telemetry.beginRequest({
      connectionId: caller.connection.id,
      method: message.method,
      requestId: request.id,
      incoming: incomingTrace(request.headers),
    });
    return {
      traceHeaders: measured.headers,
      settle: async ({ status, errorCode }) =>
        measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined }),
    };
  }

  /**
   * @throws what `ToolInvoker.admitCall` throws; `credential_missing` instead of `permission_denied` without a
   *   credential
   */
  private async admitToolCall(context: McpRequestContext<InboundRequest>): Promise<Invocation> {
    const { caller, message, route, entryPoint, request, reply, deadline } = context;
    const { name, arguments: args } = message.params;
    if (typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    try {
      return await this.invoker.admitCall({
        connection: caller.connection,
        toolName: name,
        args,
        refusalFor: caller.refusalFor,
        caller:
          caller.principal === undefined
            ? { ...caller.asToolCaller, address: networkOf(request.ip) }
            : caller.asToolCaller,
        ...(caller.connection.rateLimit !== null && { onLimited: (applied) => announceLimits(reply, applied) }),
        entryPoint,
        streamable: entryPoint === 'call_tool',
        ...(caller.agentId !== undefined && { agentId: caller.agentId }),
        permitted: (toolName) => caller.mayCall(toolName),
        trace: incomingTrace(request.headers),
        ...(hasOwnTools(route) && {
          sessionTools: () => {
            const options = { signal: deadline.signal, caller: caller.key };
            const session = route.kind === 'pooled' ? pooledSession(route, caller) : sessionAtUpstream(route, caller);
            return this.sessionTools.toolsOf(caller.connection, session, options);
          },
        }),
      });
    } catch (error) {
      const refusal = toProxyError(error);
      if (caller.principal === undefined && refusal.code === 'permission_denied') throw credentialMissing();
      throw name === SIGN_IN ? await standInRefusal(refusal, caller, this.catalog) : refusal;
    }
  }
}

const EVENT_STREAM = 'text/event-stream';
/** Requests whose answers list items that not every caller is permitted to see. */
const LISTS: ReadonlySet<string> = new Set(['tools/list', 'tasks/list']);
/** Longer upstream session ids do not fit into a sealed session id. */
const MAX_UPSTREAM_ID_LENGTH = 1024;

interface ForwardingOptions {
  /** Replaces the sender that forwards the message unchanged. */
  readonly sender?: MessageSender;
  /**
   * True if the answer can be an event stream. Otherwise it is collected into one JSON body. The default follows
   * `Accept`.
   */
  readonly acceptsStream?: boolean;
}

/** Forwards one request to the upstream, and relays the answer to the caller. */
@Injectable()
export class RequestForwarder {
  constructor(
    private readonly admission: RequestAdmission,
    private readonly defaultSender: AskedClients,
    private readonly sessions: SealedSessions,
    private readonly sessionTools: SessionTools,
    private readonly filters: CallerFilters,
    private readonly tasks: TaskOwners,
    private readonly writer: ReplyWriter,
    private readonly rooms: AnswerRooms,
  ) {}

  /** @throws DomainError */
  async forwardRequest(context: McpRequestContext<InboundRequest>, options: ForwardingOptions = {}): Promise<void> {
    const { request, reply, message, route, deadline, caller, taskIdFor, cancelled } = context;
    const isOfTask = message.method.startsWith('tasks/');
    const { sender = this.defaultSender, acceptsStream = takesStream(request.headers) } = options;
    const admitted = await this.admission.admit(context);
    try {
      requireActive(caller.connection);
      if (isOfTask && route.kind === 'session') await this.tasks.requireOwnTask(caller, message);
      const filtering = this.filters.forRequest(context);
      const filter = filtering instanceof Promise ? await filtering : filtering;
      const headers = { ...headersFor(request, route), ...admitted.traceHeaders };
      const sent = await sender.sendMessage(context, headers).catch((error: unknown) => standInFor(error, context));
      const { answer, sentId } = sent;
      if (isSubscription(message) && answer.contentType === EVENT_STREAM) deadline.lift();
      try {
        if (route.kind === 'opening') this.announceSession(context, route.key, sent);
      } catch (error) {
        discard(answer.body);
        throw error;
      }
      const relayed = await relayAnswer(answer, {
        callerId: message.id,
        sentId,
        acceptsStream,
        request,
        reply,
        rooms: this.rooms,
        isModern: isModernMessage(request.headers, message),
        filter: sent.isStandIn === true ? undefined : filter,
        isList: LISTS.has(message.method),
        taskIdFor,
        isOfTask,
        rewriteEvent: 'rewriteEvent' in route ? route.rewriteEvent : undefined,
        answerRequest: sent.answerRequest,
        ownRequests: sent.ownRequests,
        logLevel: sent.logLevel,
        onUnsentLog: sent.onUnsentLog,
        onListChanged: () =>
          this.sessionTools.listChanged(caller.connection, route.kind === 'session' ? route.session.key : undefined),
        explain: (error) => deadline.explain(error),
        cancelled,
        settle: (outcome, result) =>
          filter?.record === undefined
            ? this.settle(context, admitted, outcome, result)
            : filter.record().then(() => this.settle(context, admitted, outcome, result)),
      });
      if (reply.raw.destroyed) throw callerDisconnected(answer);
      this.writer.writeReply(request, reply, relayed, answer.headers);
    } catch (error) {
      const cause = deadline.explain(error);
      await admitted.settle(outcomeOf(cause));
      throw toProxyError(cause);
    }
  }

  /** Resolves once everything is stored that later requests may refer to, such as a created task. */
  private settle(
    { caller, message, taskIdFor }: McpRequestContext<InboundRequest>,
    admitted: Admission,
    outcome: InvocationOutcome,
    answer: Record<string, unknown> | undefined,
  ): Promise<void> {
    const settled = admitted.settle(outcome, answer && resultOf(answer));
    if (answer === undefined || message.method !== 'tools/call' || taskIdFor !== undefined) return settled;
    const task = createdTask(answer);
    if (task === undefined) return settled;
    return this.tasks.rememberTask(caller, String(message.params['name']), task).then(() => settled);
  }

  /**
   * Sends the caller the id of the session that its `initialize` opened.
   * @throws UpstreamError, DomainError `invalid_rpc_request`
   */
  private announceSession(
    { caller: { connection, principal }, message, reply }: McpRequestContext,
    key: string,
    { answer: { status, sessionId }, isTranslated, isStandIn }: Sent,
  ): void {
    const announce = (session: Parameters<SealedSessions['seal']>[0]): void => {
      const declared = {
        ...(declaresUrlElicitation(message) && { hasUrlElicitation: true as const }),
        ...(declaresApps(message) && { hasApps: true as const }),
      };
      reply.header('mcp-session-id', this.sessions.seal({ ...session, ...declared }, connection, principal));
    };
    if (isTranslated === true) {
      // Callers without a credential cannot be told apart.
      const answers = principal && answeredRequests(message);
      announce({
        hasOwnTools: false,
        isTranslated,
        ...(answers !== undefined && { answers }),
        ...(isStandIn === true && { isStandIn }),
      });
    } else if (status < 400) {
      if (sessionId !== undefined && sessionId.length > MAX_UPSTREAM_ID_LENGTH) {
        throw new UpstreamError('protocol', 'The upstream answered with a session id that is too long.');
      }
      announce({
        key,
        hasOwnTools: declaresCapabilities(message),
        ...(sessionId !== undefined && { upstreamId: sessionId }),
        ...(connection.type === 'STDIO' && { initialize: toStoredInitialize(message) }),
      });
    }
  }
}

/** A caller that has hung up reads nothing, and a stream without a reader never ends. */
function callerDisconnected(answer: UpstreamAnswer): UpstreamError {
  discard(answer.body);
  return new UpstreamError('cancelled', 'The caller disconnected.');
}

/**
 * In a caller's session and in the modern era, the caller's MCP headers are sent; in one of the service, the service's.
 */
export function headersFor(request: FastifyRequest, route: Route): Record<string, string> {
  const own = { 'x-request-id': request.id };
  if (route.kind === 'pooled') return own;
  const given = 'headers' in route ? route.headers : undefined;
  return { ...(given ?? forwardedHeaders(request.headers)), ...own };
}

/**
 * Relays the upstream's answer to a request.
 * @throws UpstreamError before the first byte is sent
 */
function relayAnswer(answer: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  if (answer.contentType === 'application/json') return relayJson(answer, plan);
  if (answer.contentType === EVENT_STREAM) return relayEvents(answer, plan);
  discard(answer.body);
  throw new UpstreamError('protocol', 'The upstream answered a request with neither JSON nor an event stream.');
}
