import { Injectable } from '@nestjs/common';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import type { FastifyRequest, FastifyReply } from 'fastify';
import type { Connection } from '../../connections/connection.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import {
  type InboundMessage,
  type InboundRequest,
  isModernMessage,
  LEGACY_VERSIONS,
} from '../protocol/inbound-message.js';
import { requireSessionless, type ProxyCaller } from '../protocol/proxy-caller.js';
import { SealedSessions, type Session, unknownSession } from './session/sealed-sessions.js';
import { isOfSession, requireTranslatable } from '../protocol/protocol-eras.js';
import { answeredRequests } from '../protocol/client-capabilities.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { ownerOfCaller, ownerOfSession, type StateOwner } from '../../upstreams/contract/callers.js';
import { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import type { LogLevel } from '../../upstreams/contract/log-level.js';
import type { AnsweringClient, RequestReceiver } from '../../upstreams/contract/upstream-request.js';
import type { TaskIdMapping } from './tasks/task-messages.js';
import type { EntryPoint } from '../../audit/calls/audit-record.js';

/**
 * How a message reaches its upstream: in the session that the caller has opened, as the `initialize` that opens one, in
 * a session that the service opens, or statelessly, as every message of the modern era (MCP 2026-07-28).
 */
export type Route =
  | {
      readonly kind: 'session';
      readonly session: Session;
      /** Replace the caller's headers in a session that was opened in the caller's name. */
      readonly headers?: Readonly<Record<string, string>>;
      /** Rewrites an event of the answer for the caller; returns undefined for an event that is not for this caller. */
      readonly rewriteEvent?: (event: Buffer) => Buffer | undefined;
      /** Opens another session when the upstream no longer knows this one. */
      readonly renew?: () => Promise<Session>;
    }
  | { readonly kind: 'opening'; readonly key: string }
  | PooledRoute
  | {
      readonly kind: 'stateless';
      readonly headers?: Readonly<Record<string, string>>;
      /** As in a session. */
      readonly rewriteEvent?: (event: Buffer) => Buffer | undefined;
    };

/** In a session that the service opens. */
export interface PooledRoute {
  readonly kind: 'pooled';
  /** Who has a session of its own with an upstream that has state; undefined for the shared one. */
  readonly owner: StateOwner | undefined;
  /** The session that the client has with this service. */
  readonly session?: Session | undefined;
  /** True if the message is sent as a request of the modern era, as it is. */
  readonly hasEnvelope?: true;
  /** As in a session. */
  readonly rewriteEvent?: ((event: Buffer) => Buffer | undefined) | undefined;
}

/**
 * One request of the MCP transport, from the controller to the answer. It is immutable: a request that continues to
 * another connection (a tool of an agent) or with another message (a translated one) gets a modified copy.
 */
export interface McpRequestContext<M extends InboundMessage = InboundMessage, R extends Route = Route> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Recorded with every tool call. */
  readonly entryPoint: EntryPoint;
  /** The sender of the message, and the connection or agent that it addresses. */
  readonly caller: ProxyCaller;
  readonly message: M;
  readonly route: R;
  /** The time limit of the connection or agent. */
  readonly deadline: CallDeadline;
  /** Aborted when the client cancels the request with a notification. It gets no answer then. */
  readonly cancelled?: AbortSignal | undefined;
  /** The id for a session that others use too, as JSON text; by default, a new one is chosen (`uniqueId`). */
  readonly sentId?: string;
  /** Receives the requests that a legacy upstream sends during the call; absent: they are refused. */
  readonly receiver?: RequestReceiver;
  /** Answers what a modern upstream asks for during the call; absent: the call fails then. */
  readonly answeringClient?: AnsweringClient;
  /** From which level on the caller gets log messages of a legacy upstream; absent: none, and no level is set. */
  readonly logLevel?: LogLevel;
  /** Set for a caller that does not see the upstream's own ids of tasks: through an agent, and in the modern era. */
  readonly taskIdFor?: TaskIdMapping;
}

/** Requests that do not depend on the state of an upstream. */
const STATELESS_METHODS: ReadonlySet<string> = new Set(['tools/list', 'server/discover']);

/**
 * The route of a message for which the service opens the session. Callers without a session get the description and the
 * tool list of the shared one.
 * @param session that the client has with this service
 */
export function pooledRoute(
  { principal, connection }: Pick<ProxyCaller, 'principal' | 'connection'>,
  { method = '' }: Pick<InboundMessage, 'method'>,
  session?: Session,
): PooledRoute {
  if (principal === undefined) return { kind: 'pooled', owner: undefined, session };
  if (session !== undefined) {
    const owner = ownerOfSession(session.key, principal, declaredAt(connection, session));
    return { kind: 'pooled', owner, session };
  }
  return { kind: 'pooled', owner: STATELESS_METHODS.has(method) ? undefined : ownerOfCaller(principal) };
}

/**
 * What the service declares that the client of a session answers. HTTP servers ask in a session that is opened in the
 * client's name instead, and an agent asks nothing itself. Where callers share a session, nothing tells them apart.
 */
function declaredAt({ type, sharedState }: Connection, { answers }: Session): ClientCapabilities | undefined {
  return type === 'HTTP' || type === 'VIRTUAL' || sharedState ? undefined : answers;
}

/**
 * What a client of the modern era answers during a request. Where callers share a session, nothing tells which of them
 * an upstream asks.
 */
export function usableCapabilities(
  { principal, connection }: Pick<ProxyCaller, 'principal' | 'connection'>,
  message: InboundMessage,
): ClientCapabilities | undefined {
  return principal === undefined || connection.sharedState ? undefined : answeredRequests(message);
}

/**
 * The route of a message whose client answers requests of the upstream. An upstream can list other tools to it.
 * @param capabilities that the client declares
 */
export function answeringRoute(principal: Principal, capabilities: ClientCapabilities): PooledRoute {
  return { kind: 'pooled', owner: ownerOfCaller(principal, capabilities) };
}

/** True if the upstream can list other tools in the session of this route than in the shared one. */
export function hasOwnTools(route: Route): boolean {
  if (route.kind === 'session') return route.session.hasOwnTools;
  return route.kind === 'pooled' && route.owner?.capabilities !== undefined;
}

/** Starts the time limit of the connection. The call is cancelled when the caller cancels it or hangs up. */
export function startRequest<M extends InboundMessage, R extends Route>({
  request,
  reply,
  entryPoint,
  caller,
  message,
  route,
  cancelled,
}: Omit<McpRequestContext<M, R>, 'deadline'>): McpRequestContext<M, R> {
  const deadline = new CallDeadline(cancelled, caller.connection.timeoutMs);
  onceClosed(reply, () => (reply.raw.writableFinished ? deadline.end() : deadline.cancel()));
  return { request, reply, entryPoint, caller, message, route, deadline, cancelled };
}

/** True if this is the context of a request, which expects an answer. */
export function isRequest(context: McpRequestContext): context is McpRequestContext<InboundRequest> {
  return context.message.kind === 'request';
}

/**
 * True if others can send requests in the same session, or to an upstream without sessions that might mix up their ids.
 */
export function isShared({ caller, route }: { caller: ProxyCaller; route: Route }): boolean {
  if (route.kind !== 'session') return route.kind === 'pooled';
  return caller.connection.type === 'HTTP' && route.session.upstreamId === undefined;
}

/** Chooses the route of a caller's message. */
@Injectable()
export class UpstreamRouter {
  constructor(private readonly sessions: SealedSessions) {}

  /** @throws DomainError `session_not_found`, `invalid_rpc_request` or `unknown_method` */
  routeOf(request: FastifyRequest, message: InboundMessage, caller: ProxyCaller): Route {
    if (isModernMessage(request.headers, message)) return { kind: 'stateless' };
    const session = this.sessionOf(request, caller);
    if (message.method === 'initialize') return { kind: 'opening', key: newId() };
    if (session?.isTranslated === true) {
      const isKnown = message.method === 'ping' || isOfSession(message);
      if (message.kind === 'request' && !isKnown) requireTranslatable(message);
      return pooledRoute(caller, message, session);
    }
    if (session !== undefined) return { kind: 'session', session };
    requireSessionless(message);
    const version = request.headers['mcp-protocol-version'];
    if (version !== undefined && !LEGACY_VERSIONS.has(String(version))) {
      throw new DomainError('invalid_rpc_request', 'The MCP-Protocol-Version header names an unsupported version.');
    }
    return pooledRoute(caller, message);
  }

  /** The route from an agent to its connections. @throws DomainError `session_not_found` */
  agentRouteOf(request: FastifyRequest, message: InboundMessage, caller: ProxyCaller): PooledRoute {
    const isSessionless = message.method === 'initialize' || isModernMessage(request.headers, message);
    return pooledRoute(caller, message, isSessionless ? undefined : this.sessionOf(request, caller));
  }

  /** @throws DomainError `session_not_found` */
  sessionOf(request: FastifyRequest, { connection, principal }: ProxyCaller): Session | undefined {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return undefined;
    const session = this.sessions.open(String(id), connection, principal);
    if (session.hasUrlElicitation === true) request.hasUrlElicitation = true;
    if (session.hasApps === true) request.hasApps = true;
    // Callers without a credential never have a program process of their own.
    const isOwnProgram = connection.type === 'STDIO' && session.isTranslated !== true;
    if (isOwnProgram && principal === undefined) throw unknownSession();
    return session;
  }
}
