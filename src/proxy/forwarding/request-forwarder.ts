import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { requireActive } from '../../upstreams/contract/require-active.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { type InvocationOutcome, outcomeOf, resultOf, type Invocation } from '../../upstreams/invocation.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import {
  type InboundRequest,
  forwardedHeaders,
  isModernMessage,
  takesStream,
  traceContextOf,
} from '../protocol/inbound-message.js';
import {
  refuseLegacyTaskMethod,
  type CallerFilter,
  credentialMissing,
  type ProxyCaller,
} from '../protocol/proxy-caller.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import type { McpRequestContext, Route } from './upstream-router.js';
import { ReplyWriter } from './reply-writer.js';
import { SessionOpening } from './session-opening.js';
import { SessionTools } from './session/session-tools.js';
import { standInFor } from './sign-in-stand-in.js';
import { createdTask } from './tasks/task-messages.js';
import { TaskOwners } from './tasks/task-owners.js';
import { type MessageSender, type Sent, UpstreamSender, sessionAtUpstream } from './upstream-sender.js';
import { relayEvents } from './relay/relay-events.js';
import { relayJson } from './relay/relay-json.js';
import type { RelayedAnswer, RelayPlan } from './relay/relay-plan.js';
import { DomainError } from '../../core/domain-error.js';
import { announceLimits } from '../../platform/limits/limit-headers.js';
import { networkOf } from '../../core/network-of.js';
import type { ToolList } from '../../upstreams/catalog/tool-list.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { ProxyTelemetry } from '../../platform/telemetry/proxy-telemetry.js';
import { ToolInvoker } from '../../upstreams/tool-invoker.js';
import { signInPageOf } from '../protocol/json-rpc-error.js';
import { NO_SIGN_IN_NEEDED, SIGN_IN } from '../protocol/sign-in-tool.js';

/** A request that can be sent: the headers that are added to the upstream request, and how to report the outcome. */
type Admission = Pick<Invocation, 'traceHeaders' | 'settle'>;

/** Admits the requests of MCP clients, and begins to measure them. `ToolInvoker` admits and records tool calls. */
@Injectable()
export class RequestAdmission {
  constructor(
    private readonly invoker: ToolInvoker,
    private readonly telemetry: ProxyTelemetry,
    private readonly channels: UpstreamChannels,
    private readonly sessionTools: SessionTools,
    private readonly catalog: ToolCatalog,
  ) {}

  /**
   * @throws what `ToolInvoker.admitCall` throws; `credential_missing` instead of `permission_denied` without a
   *   credential
   */
  async admitRequest(context: McpRequestContext<InboundRequest>): Promise<Admission> {
    return context.message.method === 'tools/call' ? this.admitToolCall(context) : this.measure(context);
  }

  private measure({ request, caller, message }: McpRequestContext<InboundRequest>): Admission {
    const measured = this.telemetry.beginRequest({
      connectionId: caller.connection.id,
      method: message.method,
      requestId: request.id,
      incoming: traceContextOf(request.headers),
    });
    return {
      traceHeaders: measured.headers,
      settle: async ({ status, errorCode }) =>
        measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined }),
    };
  }

  private async admitToolCall(context: McpRequestContext<InboundRequest>): Promise<Invocation> {
    const { caller, message, route, entryPoint, request, reply } = context;
    const { name, arguments: args } = message.params;
    if (typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    try {
      return await this.invoker.admitCall({
        connection: caller.connection,
        toolName: name,
        args,
        caller:
          caller.principal === undefined
            ? { ...caller.asToolCaller, address: networkOf(request.ip) }
            : caller.asToolCaller,
        ...(caller.connection.rateLimit !== null && { onLimited: (applied) => announceLimits(reply, applied) }),
        entryPoint,
        streamable: entryPoint === 'call_tool',
        ...(caller.agentId !== undefined && { agentId: caller.agentId }),
        permitted: (toolName) => caller.mayCall(toolName),
        trace: traceContextOf(request.headers),
        ...(route.kind === 'session' && route.session.hasOwnTools && { sessionTools: () => this.toolsOf(context) }),
      });
    } catch (error) {
      const refusal = toProxyError(error);
      if (caller.principal === undefined && refusal.code === 'permission_denied') throw credentialMissing();
      throw name === SIGN_IN ? await this.standInRefusal(refusal, caller) : refusal;
    }
  }

  /** Any grant on a connection permits its stand-in, which is no tool of the upstream. */
  private async standInRefusal(refusal: DomainError, { connection, holdsAny }: ProxyCaller): Promise<DomainError> {
    if (connection.oauth === null) return refusal;
    if (refusal.code === 'unknown_tool') return new DomainError('unknown_tool', NO_SIGN_IN_NEEDED);
    if (refusal.code !== 'permission_denied' || !holdsAny) return refusal;
    const hindrance = await this.catalog.recheck(connection).then(() => undefined, toProxyError);
    return hindrance !== undefined && signInPageOf(hindrance) !== undefined ? hindrance : refusal;
  }

  private async toolsOf({ caller, route, deadline }: McpRequestContext): Promise<ToolList> {
    if (route.kind === 'pooled') throw new Error('A session of the service has no tool list of its own.');
    const session = sessionAtUpstream(route, caller);
    const channel = await this.channels.session(caller.connection, session);
    return this.sessionTools.toolsOf(session.key, channel, { signal: deadline.signal, caller: caller.key });
  }
}

/** Requests whose answers list items that not every caller is permitted to see. */
const LISTS: ReadonlySet<string> = new Set(['tools/list', 'tasks/list']);

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
    private readonly upstream: UpstreamSender,
    private readonly sessions: SessionOpening,
    private readonly sessionTools: SessionTools,
    private readonly catalog: ToolCatalog,
    private readonly tasks: TaskOwners,
    private readonly writer: ReplyWriter,
    private readonly rooms: AnswerRooms,
  ) {}

  /** @throws DomainError */
  async forwardRequest(context: McpRequestContext<InboundRequest>, options: ForwardingOptions = {}): Promise<void> {
    const { request, reply, message, route, deadline, caller } = context;
    const { sender = this.upstream, acceptsStream = takesStream(request.headers) } = options;
    const admitted = await this.admission.admitRequest(context);
    try {
      requireActive(caller.connection);
      if (message.method.startsWith('tasks/') && !caller.holdsAll) {
        if (route.kind === 'stateless') refuseLegacyTaskMethod(message);
        await this.tasks.requireOwnTask(caller, message);
      }
      const headers = { ...headersFor(request, route), ...admitted.traceHeaders };
      const sent = await sender.sendMessage(context, headers).catch((error: unknown) => standInFor(error, context));
      const { answer, sentId } = sent;
      if (route.kind === 'opening') this.announceSession(context, sent);
      const relayed = await relayAnswer(answer, {
        callerId: message.id,
        sentId,
        acceptsStream,
        request,
        reply,
        rooms: this.rooms,
        isModern: isModernMessage(request.headers, message),
        filter: sent.isStandIn === true ? undefined : this.filterFor(context),
        isList: LISTS.has(message.method),
        rewriteEvent: route.kind === 'session' ? route.rewriteEvent : undefined,
        onListChanged: () =>
          this.sessionTools.listChanged(caller.connection, route.kind === 'session' ? route.session.key : undefined),
        explain: (error) => deadline.explain(error),
        settle: (outcome, result) => this.settle(context, admitted, outcome, result),
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
    { caller, message }: McpRequestContext<InboundRequest>,
    admitted: Admission,
    outcome: InvocationOutcome,
    answer: Record<string, unknown> | undefined,
  ): Promise<void> {
    const settled = admitted.settle(outcome, answer && resultOf(answer));
    if (answer === undefined || message.method !== 'tools/call' || caller.holdsAll) return settled;
    const task = createdTask(answer);
    if (task === undefined) return settled;
    return this.tasks.rememberTask(caller, String(message.params['name']), task).then(() => settled);
  }

  private announceSession(context: McpRequestContext, sent: Sent): void {
    try {
      this.sessions.announceSession(context, sent);
    } catch (error) {
      discard(sent.answer.body);
      throw error;
    }
  }

  /** Stores a list that is the same for every caller in the catalog too. */
  private filterFor({ caller, message, route }: McpRequestContext<InboundRequest>): CallerFilter | undefined {
    const filter = this.tasks.filterFor(caller);
    const isShared = route.kind === 'pooled' && route.owner === undefined;
    const isCommonList = message.method === 'tools/list' && isShared && isUnparameterized(message.params);
    if (filter === undefined || !isCommonList) return filter;
    return { ...filter, onComplete: (tools) => this.catalog.learn(caller.connection, tools) };
  }
}

/** Other params could select a list that is not the same for every caller. */
function isUnparameterized({ _meta: meta = {}, ...others }: InboundRequest['params']): boolean {
  return Object.keys(others).length === 0 && Object.keys(meta as object).every((name) => name === 'progressToken');
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
  if (answer.contentType === 'text/event-stream') return relayEvents(answer, plan);
  discard(answer.body);
  throw new UpstreamError('protocol', 'The upstream answered a request with neither JSON nor an event stream.');
}
