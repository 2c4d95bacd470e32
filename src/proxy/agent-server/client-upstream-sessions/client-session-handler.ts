import { Injectable } from '@nestjs/common';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import { DomainError } from '../../../core/domain-error.js';
import { connectionFor } from '../../../connections/connection.js';
import { ConnectionDirectory } from '../../../connections/connection-directory.js';
import { onceClosed } from '../../../platform/http/once-closed.js';
import { CallDeadline } from '../../../upstreams/contract/call-deadline.js';
import { discard } from '../../../upstreams/messages/answer-body.js';
import {
  type McpRequestContext,
  type PooledRoute,
  type Route,
  startRequest,
} from '../../forwarding/upstream-router.js';
import { RequestForwarder } from '../../forwarding/request-forwarder.js';
import { UpstreamSender } from '../../forwarding/upstream-sender.js';
import {
  type InboundMessage,
  type InboundOneWay,
  type InboundRequest,
  takesStream,
} from '../../protocol/inbound-message.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { requiredLevel } from '../../protocol/protocol-eras.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { mayUseAny } from '../offering/agent-permissions.js';
import { AgentToolRouter } from '../offering/agent-tool-router.js';
import { renameContents, renameUri } from '../offering/renamed-resource.js';
import { type ClientUpstreamSession, headersOf, type SessionOwner } from './client-upstream-session.js';
import { setLevel } from './client-upstream-session-opener.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { RequestIdCodec, type UpstreamRequestId, rewriteEventIds } from './request-id.codec.js';
import { SessionComposition } from './session-composition.js';
import { SessionResources } from './session-resources.js';

/** Notifications for every upstream of the agent. Only the upstream that has the cancelled request knows its id. */
const SENT_TO_ALL: ReadonlySet<string | undefined> = new Set([
  'notifications/roots/list_changed',
  'notifications/cancelled',
]);

/** One message to an agent in a session of the legacy era, whose client answers requests. */
interface SessionMessage<M extends InboundMessage = InboundMessage> extends McpRequestContext<M, PooledRoute> {
  readonly owner: SessionOwner;
}

/**
 * Handles the messages that a client that answers requests sends to an agent. Tool calls, log levels and subscriptions
 * are sent in the caller's own session with the upstream. Answers of the client are sent to the upstream that sent the
 * request.
 */
@Injectable()
export class ClientSessionHandler {
  constructor(
    private readonly sessions: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly requestIds: RequestIdCodec,
    private readonly tools: AgentToolRouter,
    private readonly resources: SessionResources,
    private readonly requests: RequestForwarder,
    private readonly upstream: UpstreamSender,
    private readonly directory: ConnectionDirectory,
    private readonly rooms: AnswerRooms,
  ) {}

  /** @throws DomainError */
  async callTool(context: SessionMessage): Promise<void> {
    const { owner, request, reply } = context;
    const routed = await this.tools.route(context, () => this.compositions.compositionOf(owner));
    const { connection } = routed.caller;
    const takesEvents = takesStream(request.headers);
    const name = String(routed.message.params['name']);
    // The service makes tasks in its own sessions.
    const mayBeOwn = takesEvents && !routed.caller.callsAsTask;
    const isOwn = mayBeOwn && (await this.compositions.owns(owner, connection, name));
    const session = isOwn ? await this.sessions.sessionWith(owner, connection) : undefined;
    // A long call must not lose its session as idle.
    if (session !== undefined) onceClosed(reply, this.sessions.hold(owner));
    const route: Route = session === undefined ? routed.route : await this.routeTo(owner, session, routed.message);
    await this.requests.forwardRequest({ ...routed, route });
  }

  /** Handles a message that concerns the session; false for any other message. @throws DomainError */
  async handleSessionMessage(context: SessionMessage): Promise<boolean> {
    const { message, reply } = context;
    if (message.kind === 'request') return this.handleRequest({ ...context, message });
    if (message.kind === 'answer') await this.returnAnswer({ ...context, message });
    else if (SENT_TO_ALL.has(message.method)) await this.sendToAll(context);
    else return false;
    await reply.status(202).send();
    return true;
  }

  private async handleRequest(context: SessionMessage<InboundRequest>): Promise<boolean> {
    const { method } = context.message;
    if (method === 'logging/setLevel') return this.setLevel(context);
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') return this.subscribe(context);
    return method === 'resources/read' && (await this.read(context));
  }

  /** The caller is answered whether or not the upstreams accept the message. */
  private async sendToAll(context: SessionMessage): Promise<void> {
    for (const session of await this.sessions.opened(context.owner)) {
      this.send(context, session, context.message).catch(() => undefined);
    }
  }

  /** The route of a message in this session, which also rewrites the ids and addresses in its answer. */
  private async routeTo(
    owner: SessionOwner,
    session: ClientUpstreamSession,
    { id }: Pick<InboundRequest, 'id'>,
  ): Promise<Route> {
    const callerId = JSON.parse(id) as string | number;
    const address = await this.resources.addressesFor(owner, session);
    let current = session;
    return {
      kind: 'session',
      session: session.session,
      headers: headersOf(session),
      rewriteEvent: (event) =>
        rewriteEventIds(event, { ...this.requestIds.forAnswer(owner, current, callerId), address }),
      renew: async () => {
        current = await this.sessions.renew(owner, session);
        return current.session;
      },
    };
  }

  private async returnAnswer(context: SessionMessage<InboundOneWay>): Promise<void> {
    const { owner, message } = context;
    const answer = JSON.parse(message.body.toString('utf8')) as { id: unknown };
    const requestId = this.requestIds.open(owner, answer.id);
    const session = await this.requestingSession(owner, requestId);
    const body = Buffer.from(JSON.stringify({ ...answer, id: requestId.id }));
    await this.send(context, session, { ...message, body }).catch(ignoreLost);
  }

  /** The session may have been opened by another process. */
  private async requestingSession(owner: SessionOwner, requestId: UpstreamRequestId): Promise<ClientUpstreamSession> {
    const { connectionId, revision, upstreamId, protocolVersion } = requestId;
    const { caller, session } = owner;
    const found = await this.directory.findConnection(caller.connection.organizationId, connectionId);
    const connection = found && connectionFor(found, owner.principal.userId);
    const isUsable = mayUseAny(caller, await this.compositions.compositionOf(owner), connectionId);
    if (connection === undefined || connection.revision !== revision || !isUsable) {
      throw new DomainError(
        'permission_denied',
        'The caller is not permitted to use the connection that sent this request.',
      );
    }
    const { key, openedAt } = session;
    return { connection, session: { key, upstreamId, hasOwnTools: true, revision, openedAt }, protocolVersion };
  }

  /** Sets the level in the caller's own sessions. Returns false, because it holds for the other ones too. */
  private async setLevel(context: SessionMessage<InboundRequest>): Promise<false> {
    const { owner, message } = context;
    const level = requiredLevel(message);
    this.sessions.setLevel(owner, level);
    const notification = { kind: 'notification', params: {}, ...setLevel(level) } as const;
    const opened = await this.sessions.opened(owner);
    // An upstream without logging answers with an error, which does not affect the others.
    await Promise.allSettled(opened.map((session) => this.send(context, session, notification)));
    return false;
  }

  /** Reads a resource in the caller's session, unless every caller can read it in the shared session. */
  private async read(context: SessionMessage<InboundRequest>): Promise<boolean> {
    const { owner, message, request, reply } = context;
    const uri = String(message.params['uri']);
    const { isListed, isOwn = false, session: listing, own = uri } = await this.resources.listed(owner, uri);
    if (isListed && (!isOwn || listing === undefined)) return false;
    const session = listing ?? (await this.resources.unlisted(owner, uri));
    if (session === undefined) return false;
    if (own === uri) {
      await this.forward(context, session);
      return true;
    }
    const result = await this.resources.read(session, own, this.rooms.openUntilSent(request, reply));
    if (result === undefined) return false;
    const text = JSON.stringify(renameContents(result, own, uri));
    await reply.status(200).type('application/json').send(`{"jsonrpc":"2.0","id":${message.id},"result":${text}}`);
    return true;
  }

  /** Returns false if the caller has no session of its own with the upstream. */
  private async subscribe(context: SessionMessage<InboundRequest>): Promise<boolean> {
    const { owner, message } = context;
    const uri = String(message.params['uri']);
    const { isListed, session: listing, own = uri } = await this.resources.listed(owner, uri);
    const session = isListed ? listing : await this.resources.unlisted(owner, uri);
    if (session === undefined) return false;
    if (own !== uri) this.resources.noteSubscription(session, own, uri);
    await this.forward({ ...context, message: renameUri(message, own) }, session);
    return true;
  }

  private async forward(context: SessionMessage<InboundRequest>, session: ClientUpstreamSession): Promise<void> {
    const { owner, message } = context;
    const { principal, requestId } = owner.caller;
    const caller = new ProxyCaller(principal, session.connection, requestId);
    const route = await this.routeTo(owner, session, message);
    await this.requests.forwardRequest(startRequest({ ...context, caller, route }));
  }

  /** @throws DomainError */
  private async send(context: SessionMessage, session: ClientUpstreamSession, message: InboundMessage): Promise<void> {
    const { owner, request } = context;
    const { connection } = session;
    const caller = new ProxyCaller(owner.caller.principal, connection, request.id);
    const deadline = new CallDeadline(undefined, connection.timeoutMs);
    const headers = { ...headersOf(session), 'x-request-id': request.id };
    // A lost session is not reopened: the new session has not sent the request that this message answers.
    const route = { kind: 'session', session: session.session } as const;
    try {
      const { answer } = await this.upstream.sendMessage({ ...context, caller, message, deadline, route }, headers);
      discard(answer.body);
    } catch (error) {
      throw toProxyError(deadline.explain(error));
    } finally {
      deadline.end();
    }
  }
}

/**
 * An upstream that no longer knows the session does not wait for the answer. The caller's session with the agent stays
 * valid.
 */
function ignoreLost(error: unknown): void {
  if (!(error instanceof DomainError) || error.code !== 'session_not_found') throw error;
}
