import { Injectable } from '@nestjs/common';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { DomainError } from '../../core/domain-error.js';
import { hasOwnSessions } from '../../connections/connection.js';
import type { ServerDescription } from '../../upstreams/contract/upstream.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { ConnectionTasks } from '../forwarding/tasks/connection-tasks.js';
import { refuseTask } from '../forwarding/tasks/task-messages.js';
import { invalidState } from '../forwarding/session/request-states.js';
import {
  answeringRoute,
  type McpRequestContext,
  pooledRoute,
  usableCapabilities,
} from '../forwarding/upstream-router.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { type MessageSender, ownAnswer, type Sent, UpstreamSender } from '../forwarding/upstream-sender.js';
import { type InboundRequest, isSubscription, MODERN_VERSIONS } from '../protocol/inbound-message.js';
import { withoutInputResponses, declaresUrlElicitation } from '../protocol/client-capabilities.js';
import { canAsk } from '../protocol/json-rpc-error.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { requireTranslatable, sessionCapabilities, translatableCapabilities } from '../protocol/protocol-eras.js';
import { logLevelIn } from './held-calls/call-notifications.js';
import { type AskableRequest, bringsAnswers, HeldCalls } from './held-calls/held-calls.js';
import { needsSession, requireEnvelope, unsupportedVersion, withoutEnvelope } from './modern-envelope.js';
import { LegacySubscriptions } from './subscriptions/legacy-subscriptions.js';
import { toModernAnswer, toModernMessage, refusalOfUrls } from './to-modern-answer.js';
import { UpstreamEras } from './upstream-eras.js';

/** MCP 2026-07-28, "Error codes". */
const UNSUPPORTED_VERSION = -32022;

/**
 * Forwards one request of the modern era. An upstream that supports the era gets the bytes that were received. Any
 * other upstream gets the same request of the legacy era, in a session that the service opens for the caller, and its
 * answer is translated.
 */
@Injectable()
export class ModernRequestTranslator {
  constructor(
    private readonly requests: RequestForwarder,
    private readonly tasks: ConnectionTasks,
    private readonly upstream: UpstreamSender,
    private readonly eras: UpstreamEras,
    private readonly rooms: AnswerRooms,
    private readonly calls: HeldCalls,
    private readonly subscriptions: LegacySubscriptions,
  ) {}

  /** @throws DomainError */
  async forwardModernRequest(context: McpRequestContext<InboundRequest>): Promise<void> {
    const { message, request, reply, caller } = context;
    const isModern = await this.passesAsBytes(context);
    if (isModern && caller.connection.type === 'HTTP') {
      await this.requests.forwardRequest(await this.bindTasks(context));
      return;
    }
    const requested = unsupportedVersion(message);
    if (requested !== undefined) {
      const data = { supported: MODERN_VERSIONS, requested };
      const error = { code: UNSUPPORTED_VERSION, message: 'This protocol version is not supported.', data };
      const text = `{"jsonrpc":"2.0","id":${message.id},"error":${JSON.stringify(error)}}`;
      await reply.status(400).header('content-type', 'application/json').send(text);
      return;
    }
    requireEnvelope(request.headers, message);
    if (isModern) {
      await this.forwardToProgram(context);
      return;
    }
    if (message.method === 'server/discover' && needsSession(message, caller)) {
      const detail = 'A client with these capabilities must open a session with `initialize`.';
      throw new DomainError('unknown_method', detail);
    }
    // An upstream of the legacy era has no states of its own.
    const hasForeignState = message.params['requestState'] !== undefined && !bringsAnswers(message);
    const refusal = hasForeignState ? invalidState() : refusalOfUrls(message);
    // The request that is sent does not declare it any more.
    if (declaresUrlElicitation(message)) request.hasUrlElicitation = true;
    const legacy = toLegacy(context);
    const asked = askable(context);
    // Instead of the call, so that it is recorded.
    const sendMessage: MessageSender['sendMessage'] =
      refusal === undefined ? (_, headers) => this.sendMessage(legacy, headers, asked) : () => Promise.reject(refusal);
    await this.requests.forwardRequest(legacy, { sender: { sendMessage } });
  }

  /**
   * Sends a request to an upstream of the legacy era.
   * @throws DomainError `connection_unavailable`, `unknown_method`, UpstreamError
   */
  private async sendMessage(
    context: McpRequestContext<InboundRequest>,
    headers: Readonly<Record<string, string>>,
    asked: Pick<AskableRequest, 'message' | 'capabilities'> | undefined,
  ): Promise<Sent> {
    const { request, reply, caller, message, deadline, logLevel } = context;
    const { id, method } = message;
    const serverDescription = await this.eras.describeUpstream(caller.connection, deadline.signal);
    if (method === 'server/discover') return { answer: ownAnswer(discovery(id, serverDescription, caller)) };
    if (isSubscription(message) && !serverDescription.isModern) {
      return this.subscriptions.subscribe(context, serverDescription);
    }
    requireTranslatable(message);
    const { serverInfo, isModern } = serverDescription;
    const isUrlClient = request.hasUrlElicitation === true;
    if (asked !== undefined && !isModern) {
      return this.calls.sendMessage(context, headers, { ...asked, serverInfo, isUrlClient });
    }
    // A program of the modern era has no session that could declare what its client answers.
    const sending = isModern ? { ...context, route: pooledRoute(caller, message) } : context;
    const sent = await this.upstream.sendMessage(sending, headers);
    const response = { request, reply, rooms: this.rooms };
    const answered = { method, serverInfo, isUrlClient, logLevel, reportChange: sent.reportChange };
    return { ...sent, answer: toModernAnswer(sent.answer, answered, response) };
  }

  /**
   * Forwards a request to a program of the modern era, in the process of its caller. A program of both eras takes the
   * era from what it reads, so it gets only complete requests of the version that was negotiated with it.
   */
  private async forwardToProgram(context: McpRequestContext<InboundRequest>): Promise<void> {
    if (context.message.method === 'initialize') {
      throw new DomainError('unknown_method', 'This protocol revision does not have this method.');
    }
    const bound = await this.bindTasks(context);
    const { caller, message } = bound;
    const rewriteEvent = 'rewriteEvent' in bound.route ? bound.route.rewriteEvent : undefined;
    const route = { ...pooledRoute(caller, message), hasEnvelope: true as const, rewriteEvent };
    const sendMessage: MessageSender['sendMessage'] = (sent, headers) => this.sendToProgram(sent, context, headers);
    await this.requests.forwardRequest({ ...bound, route }, { sender: { sendMessage } });
  }

  /** Binds the tasks of an upstream to the caller. Through an agent, the agent has bound them. */
  private async bindTasks(context: McpRequestContext<InboundRequest>): Promise<McpRequestContext<InboundRequest>> {
    return context.taskIdFor === undefined ? this.tasks.bindTasks(context) : context;
  }

  /** @param original the request as it was received */
  private async sendToProgram(
    sent: McpRequestContext,
    original: McpRequestContext<InboundRequest>,
    headers: Readonly<Record<string, string>>,
  ): Promise<Sent> {
    try {
      return await this.upstream.sendMessage(sent, headers);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind !== 'session_lost') throw error;
      // The program was replaced by one of the legacy era, which has not received the request.
      this.eras.forget(sent.caller.connection);
      return this.sendMessage(toLegacy(original), headers, askable(original));
    }
  }

  private async passesAsBytes({ caller, message, deadline }: McpRequestContext<InboundRequest>) {
    const { connection } = caller;
    // Only the service opens sessions with an upstream of another kind.
    if (!hasOwnSessions(connection)) return false;
    // A client with such capabilities falls back to `initialize`, and can then use all of them.
    if (connection.type === 'HTTP' && message.method === 'server/discover' && needsSession(message, caller))
      return true;
    // Inactive connections are refused later.
    if (connection.status === 'inactive') return true;
    try {
      return (await this.eras.describeUpstream(connection, deadline.signal)).isModern;
    } catch (error) {
      if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      // Forwarding the request records and reports why the upstream cannot be reached.
      return true;
    }
  }
}

/** The same request for an upstream of the legacy era, in a session that the service opens. */
function toLegacy(context: McpRequestContext<InboundRequest>): McpRequestContext<InboundRequest> {
  const { caller, message, taskIdFor } = context;
  const { principal } = caller;
  const capabilities = usableCapabilities(caller, message);
  // Lists are requested in the session of all callers, whose level is nobody's.
  const logLevel = canAsk(message.method) && caller.getsLog ? logLevelIn(message.params['_meta']) : undefined;
  return {
    ...context,
    ...(logLevel !== undefined && { logLevel }),
    message: withoutInputResponses(withoutEnvelope(message)),
    route:
      principal === undefined || capabilities === undefined
        ? pooledRoute(caller, message)
        : answeringRoute(principal, capabilities),
    // Requests about a task are not translated.
    ...(taskIdFor !== undefined && { taskIdFor: refuseTask }),
  };
}

/** Undefined for a request during which the upstream cannot ask the client. */
function askable(
  context: McpRequestContext<InboundRequest>,
): Pick<AskableRequest, 'message' | 'capabilities'> | undefined {
  const { caller, message } = context;
  // A task would be kept for as long as the client can be asked.
  if (!canAsk(message.method) || caller.callsAsTask) return undefined;
  const capabilities = usableCapabilities(caller, message) ?? (bringsAnswers(message) ? {} : undefined);
  return capabilities && { message, capabilities };
}

/** @param id JSON text */
function discovery(
  id: string,
  { capabilities, instructions, serverInfo, isModern }: ServerDescription,
  caller: ProxyCaller,
): string {
  const { holdsAny, getsLog } = caller;
  const ofSession = { canListen: holdsAny, canSubscribe: holdsAny, getsLog };
  const result = {
    supportedVersions: MODERN_VERSIONS,
    capabilities: {
      ...translatableCapabilities(capabilities),
      ...(!isModern && sessionCapabilities(capabilities, ofSession)),
    },
    ...(instructions !== undefined && { instructions }),
  };
  const text = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  return toModernMessage(text, { method: 'server/discover', serverInfo });
}
