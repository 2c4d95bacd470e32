import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../../audit/audit-record.js';
import { DomainError } from '../../../common/domain-error.js';
import { CallDeadline } from '../../../upstreams/contract/call-deadline.js';
import { ConnectionDirectory } from '../../../connections/connection-directory.js';
import { onceClosed } from '../../../http/once-closed.js';
import { RequestForwarder } from '../../forwarding/request-forwarder.js';
import type { Route } from '../../forwarding/route.js';
import { deadlineOfReply } from '../../forwarding/reply-deadline.js';
import { UpstreamSender } from '../../forwarding/upstream-sender.js';
import type { InboundMessage, InboundOneWay, InboundRequest } from '../../protocol/inbound-message.js';
import { ProxyCaller } from '../../protocol/proxy-caller.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { AgentToolRouter } from '../offering/agent-tool-router.js';
import { mayUseAny } from '../offering/agent-permissions.js';
import { headersOf, type ClientUpstreamSession, type SessionOwner } from './client-upstream-session.js';
import { setLevel } from './client-upstream-session-opener.js';
import { SessionResources } from './session-resources.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { rewriteEventIds } from './rewrite-event-ids.js';
import { type UpstreamRequestId, RequestIdCodec } from './request-id.codec.js';
import { SessionComposition } from './session-composition.js';
import { discard } from '../../../upstreams/messages/answer-body.js';

const LEVELS: ReadonlySet<unknown> = new Set([
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]);
/** What a client tells all servers alike. The id of a cancelled request is known to the one that has it. */
const TOLD_TO_ALL: ReadonlySet<string | undefined> = new Set([
  'notifications/roots/list_changed',
  'notifications/cancelled',
]);

/** One message to an agent in a session of the legacy era. */
interface Posted<M extends InboundMessage = InboundMessage> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly door: AuditDoor;
  readonly owner: SessionOwner;
  readonly message: M;
}

/**
 * What a client that answers requests sends to an agent: tool calls, log levels and subscriptions go to the upstream in a
 * session of this caller's own, and its answers to whoever asked.
 */
@Injectable()
export class ClientSessionHandler {
  constructor(
    private readonly members: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly addresses: RequestIdCodec,
    private readonly tools: AgentToolRouter,
    private readonly resources: SessionResources,
    private readonly requests: RequestForwarder,
    private readonly sender: UpstreamSender,
    private readonly directory: ConnectionDirectory,
  ) {}

  /** @throws DomainError */
  async callTool({ request, reply, door, owner, message }: Posted): Promise<void> {
    const asked = { caller: owner.caller, message };
    const { caller, message: renamed } = await this.tools.find(request, door, asked, () => this.compositions.of(owner));
    const scope = deadlineOfReply(reply, caller.connection.timeoutMs);
    const takesEvents = request.headers.accept?.includes('text/event-stream') === true;
    const name = String(renamed.params['name']);
    const isOwn = takesEvents && (await this.compositions.owns(owner, caller.connection, name));
    const member = isOwn ? await this.members.of(owner, caller.connection) : undefined;
    // A long call must not lose its session as an idle one.
    if (member !== undefined) onceClosed(reply, this.members.hold(owner));
    const route: Route = member === undefined ? { kind: 'shared' } : this.routeTo(owner, member, renamed);
    await this.requests.answer(request, reply, door, { caller, message: renamed, scope, route });
  }

  /** Does what belongs to the session; false for a message that does not. @throws DomainError */
  async handle(posted: Posted): Promise<boolean> {
    const { message, reply } = posted;
    if (message.kind === 'request') return this.handleRequest({ ...posted, message });
    if (message.kind === 'answer') await this.returnAnswer({ ...posted, message });
    else if (TOLD_TO_ALL.has(message.method)) await this.tellAll(posted);
    else return false;
    await reply.status(202).send();
    return true;
  }

  private async handleRequest(posted: Posted<InboundRequest>): Promise<boolean> {
    const { method } = posted.message;
    if (method === 'logging/setLevel') await this.setLevel(posted);
    else if (method === 'resources/subscribe' || method === 'resources/unsubscribe') await this.subscribe(posted);
    else return method === 'resources/read' && (await this.read(posted));
    return true;
  }

  /** Whether it arrives is of no consequence to the caller. */
  private async tellAll(posted: Posted): Promise<void> {
    for (const member of await this.members.opened(posted.owner)) {
      this.send(posted, member, posted.message).catch(() => undefined);
    }
  }

  /** The way of a message in this session, with what its answer must pass on its way back. */
  private routeTo(owner: SessionOwner, member: ClientUpstreamSession, { id }: Pick<InboundRequest, 'id'>): Route {
    const callerId = JSON.parse(id) as string | number;
    let current = member;
    return {
      kind: 'session',
      session: member.session,
      headers: headersOf(member),
      rewriteEvent: (event) => rewriteEventIds(event, this.addresses.forAnswer(owner, current, callerId)),
      renew: async () => {
        current = await this.members.renew(owner, member);
        return current.session;
      },
    };
  }

  private async returnAnswer(posted: Posted<InboundOneWay>): Promise<void> {
    const { owner, message } = posted;
    const answer = JSON.parse(message.body.toString('utf8')) as { id: unknown };
    const address = this.addresses.open(owner, answer.id);
    const member = await this.memberAt(owner, address);
    const body = Buffer.from(JSON.stringify({ ...answer, id: address.id }));
    await this.send(posted, member, { ...message, body }).catch(ignoreLost);
  }

  /** The session that asked, which may have been opened by another process. */
  private async memberAt(owner: SessionOwner, address: UpstreamRequestId): Promise<ClientUpstreamSession> {
    const { connectionId, revision, upstreamId, protocolVersion } = address;
    const { caller, session } = owner;
    const connection = await this.directory.find(caller.connection.organizationId, connectionId);
    const isUsable = mayUseAny(caller, await this.compositions.of(owner), connectionId);
    if (connection === undefined || connection.revision !== revision || !isUsable) {
      throw new DomainError('permission_denied', 'The caller may not use the connection that asked.');
    }
    const { key, openedAt } = session;
    return { connection, session: { key, upstreamId, hasOwnTools: true, revision, openedAt }, protocolVersion };
  }

  private async setLevel({ owner, message, ...posted }: Posted<InboundRequest>): Promise<void> {
    const { level } = message.params;
    if (typeof level !== 'string' || !LEVELS.has(level)) {
      throw new DomainError('invalid_arguments', '`params.level` must be a log level of MCP.');
    }
    this.members.setLevel(owner, level);
    const told = { kind: 'notification', params: {}, ...setLevel(level) } as const;
    const opened = await this.members.opened(owner);
    // An upstream that keeps no log says so; the others have their level all the same.
    await Promise.allSettled(opened.map((member) => this.send({ ...posted, owner, message }, member, told)));
    await posted.reply.status(200).type('application/json').send(`{"jsonrpc":"2.0","id":${message.id},"result":{}}`);
  }

  /** A resource that everyone can read is read as everyone reads it. */
  private async read(posted: Posted<InboundRequest>): Promise<boolean> {
    const uri = String(posted.message.params['uri']);
    const { isListed } = await this.resources.listed(posted.owner, uri);
    const member = isListed ? undefined : await this.resources.unlisted(posted.owner, uri);
    if (member === undefined) return false;
    await this.forward(posted, member);
    return true;
  }

  private async subscribe(posted: Posted<InboundRequest>): Promise<void> {
    const { owner, message } = posted;
    const uri = String(message.params['uri']);
    const { isListed, member: listing } = await this.resources.listed(owner, uri);
    const member = isListed ? listing : await this.resources.unlisted(owner, uri);
    if (member !== undefined) await this.forward(posted, member);
    else if (isListed) throw new DomainError('unknown_method', 'The upstream of this resource takes no subscriptions.');
    else throw new DomainError('invalid_arguments', 'The agent has no resource with this URI.');
  }

  private async forward(
    { request, reply, door, owner, message }: Posted<InboundRequest>,
    member: ClientUpstreamSession,
  ): Promise<void> {
    const { principal, requestId } = owner.caller;
    const caller = new ProxyCaller(principal, member.connection, requestId);
    const scope = deadlineOfReply(reply, member.connection.timeoutMs);
    await this.requests.answer(request, reply, door, {
      caller,
      message,
      scope,
      route: this.routeTo(owner, member, message),
    });
  }

  /** @throws DomainError */
  private async send(
    { request, owner }: Posted,
    member: ClientUpstreamSession,
    message: InboundMessage,
  ): Promise<void> {
    const { connection } = member;
    const caller = new ProxyCaller(owner.caller.principal, connection, request.id);
    const scope = new CallDeadline(undefined, connection.timeoutMs);
    const headers = { ...headersOf(member), 'x-request-id': request.id };
    try {
      // Without another session for a lost one: an answer would reach somebody who has not asked.
      const route = { kind: 'session', session: member.session } as const;
      const { answer } = await this.sender.send({ caller, message, scope, headers, route });
      discard(answer.body);
    } catch (error) {
      throw toProxyError(scope.explain(error));
    } finally {
      scope.end();
    }
  }
}

/** Whoever asked in a session that the upstream has forgotten waits no longer; the caller's session with the agent goes on. */
function ignoreLost(error: unknown): void {
  if (!(error instanceof DomainError) || error.code !== 'session_not_found') throw error;
}
