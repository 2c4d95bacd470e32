import { Injectable } from '@nestjs/common';
import { type AnswerRoom, AnswerRooms } from '../../core/answers/answer-room.js';
import type { LogLevel } from '../../upstreams/contract/log-level.js';
import type { ExchangeOptions, OutgoingMessage, UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import {
  type AskedRequest,
  type SessionAtUpstream,
  UpstreamChannels,
} from '../../upstreams/channels/upstream-channels.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import type { AnsweringClient, RequestReceiver } from '../../upstreams/contract/upstream-request.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import type { InboundMessage, InboundRequest } from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { type McpRequestContext, isShared, type Route } from './upstream-router.js';
import { storedInitialize } from './session/sealed-sessions.js';
import { SessionStreams } from './session/session-streams.js';
import { randomBytes } from 'node:crypto';

const PREFIX = `"sbx-${randomBytes(9).toString('base64url')}-`;
let count = 0;

export interface Sent {
  readonly answer: UpstreamAnswer;
  /** The id that was sent instead of the caller's, as JSON text. */
  readonly sentId?: string | undefined;
  /** Answers a request of the upstream in a session of the service. */
  readonly answerRequest?: (request: AskedRequest) => void;
  /** Call with notifications in the answer that are not for the caller: they can be for those who listen. */
  readonly reportChange?: (notification: Readonly<Record<string, unknown>>) => void;
  /**
   * Set for the answer to an `initialize` whose session exists only in this service; its requests are sent in a shared
   * session.
   */
  readonly isTranslated?: true;
  /** The ids of the requests in the answer that this service sends to the caller; all others are of the upstream. */
  readonly ownRequests?: ReadonlySet<unknown>;
  /** The least severe log messages in the answer that the client wants; absent: all of them. */
  readonly logLevel?: LogLevel;
  /** Call with log messages of an answer that the client does not get as a stream. */
  readonly onUnsentLog?: (log: Readonly<Record<string, unknown>>) => void;
  /** Set for an answer of this service, which contains only what the caller is permitted to see. */
  readonly isStandIn?: true;
}

/** An answer of this service instead of the upstream. @param text the JSON-RPC message */
export function ownAnswer(text: string): UpstreamAnswer {
  return { status: 200, contentType: 'application/json', headers: {}, body: Buffer.from(text) };
}

/** Sends one message and returns the upstream's answer, or a substitute. */
export interface MessageSender {
  /**
   * @param headers for the upstream
   * @throws DomainError `connection_unavailable`, UpstreamError
   */
  sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent>;
}

/**
 * Sends callers' messages upstream as the bytes that were received. Only a request in a session of the service gets
 * another id.
 */
@Injectable()
export class UpstreamSender implements MessageSender {
  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly sessions: SessionStreams,
    private readonly rooms: AnswerRooms,
  ) {}

  sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    return this.health.watchCall(context.caller.connection, () => this.post(context, headers));
  }

  private async post(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    const { caller, route, message, deadline, receiver } = context;
    const logLevel = context.logLevel ?? this.levelOf(context);
    const options = new ExchangeUntilDeadline(headers, context, this.rooms, logLevel);
    const sentId = message.kind === 'request' && isShared(context) ? (context.sentId ?? uniqueId()) : undefined;
    const outgoing = toOutgoing(message, sentId);
    if (route.kind !== 'pooled') {
      return { answer: await this.postInSession(context, headers, route, outgoing), sentId };
    }
    const { session } = route;
    const channel = this.channels.pooled(caller.connection, route.owner);
    if (route.hasEnvelope === true) {
      return { answer: await channel.postMessage({ ...outgoing, hasEnvelope: true }, options), sentId };
    }
    if (sentId !== undefined) {
      // In the legacy era, closing the connection does not cancel the request; the upstream needs a notification.
      deadline.onStop(() => void channel.cancel(sentId, caller.key));
    }
    if (logLevel !== undefined) await channel.requireLogLevel(logLevel, options);
    const sent = caller.callsAsTask ? { ...outgoing, asTask: true } : outgoing;
    const answer = await channel.postMessage(sent, options);
    return {
      answer,
      sentId,
      answerRequest: (asked) => void channel.answerRequest(asked, caller.key, receiver),
      reportChange: (notification) => channel.reportChange(notification),
      ...(logLevel !== undefined && { logLevel }),
      ...(session !== undefined && { onUnsentLog: (log) => this.sessions.send(session, log) }),
    };
  }

  /** From which level on the client wants log messages in its session; undefined if none can be told to be its own. */
  private levelOf({ caller, route, message }: McpRequestContext): LogLevel | undefined {
    const session = route.kind === 'pooled' ? route.session : undefined;
    // Lists are requested in the session of all callers, whose level is nobody's.
    if (session === undefined || message.kind !== 'request' || message.method === 'tools/list') return undefined;
    return caller.getsLog ? this.sessions.levelOf(session) : undefined;
  }

  private async postInSession(
    { caller, deadline: { signal } }: McpRequestContext,
    headers: Readonly<Record<string, string>>,
    route: Exclude<Route, { kind: 'pooled' }>,
    outgoing: OutgoingMessage,
  ): Promise<UpstreamAnswer> {
    const { connection } = caller;
    const options = { headers, signal, caller: caller.key };
    const channel = await this.channels.session(connection, sessionAtUpstream(route, caller));
    try {
      return await channel.postMessage(outgoing, options);
    } catch (error) {
      const isLost = error instanceof UpstreamError && error.kind === 'session_lost';
      if (!isLost || route.kind !== 'session' || route.renew === undefined) throw error;
      const renewed = { kind: 'session', session: await route.renew() } as const;
      const next = await this.channels.session(connection, sessionAtUpstream(renewed, caller));
      return next.postMessage(outgoing, options);
    }
  }
}

/** Exchange options that follow a deadline. A class, because object literals with accessors are slow to create. */
class ExchangeUntilDeadline implements ExchangeOptions {
  constructor(
    readonly headers: Readonly<Record<string, string>>,
    private readonly context: McpRequestContext,
    private readonly rooms: AnswerRooms,
    readonly logLevel: LogLevel | undefined,
  ) {}

  get caller(): string {
    return this.context.caller.key;
  }

  get receiver(): RequestReceiver | undefined {
    return this.context.receiver;
  }

  get answeringClient(): AnsweringClient | undefined {
    return this.context.answeringClient;
  }

  get signal(): AbortSignal {
    return this.context.deadline.signal;
  }

  get room(): AnswerRoom {
    return this.rooms.roomOf(this.context.request, this.context.reply);
  }

  onStop(callback: () => void): void {
    this.context.deadline.onStop(callback);
  }
}

function toOutgoing(message: InboundMessage, sentId: string | undefined): OutgoingMessage {
  const { body, method } = message;
  if (message.kind !== 'request') return { body, ...(method !== undefined && { method }) };
  if (sentId === undefined) return { body, method: message.method, id: message.id };
  return { body: withId(message, sentId), method: message.method, id: sentId };
}

/** @param id JSON text, ASCII */
function withId({ body, idStart, idEnd }: InboundRequest, id: string): Buffer {
  const changed = Buffer.allocUnsafe(body.length - (idEnd - idStart) + id.length);
  body.copy(changed, 0, 0, idStart);
  changed.write(id, idStart, 'latin1');
  body.copy(changed, idStart + id.length, idEnd);
  return changed;
}

/**
 * The upstream session for a message that does not use one of the service.
 * @param caller whose share a program counts towards
 */
export function sessionAtUpstream(
  route: Exclude<Route, { kind: 'pooled' }>,
  { principal: caller }: Partial<ProxyCaller> = {},
): SessionAtUpstream {
  if (route.kind === 'opening') return { key: route.key, caller };
  if (route.kind === 'stateless') return { key: 'none' };
  const { key, upstreamId, initialize } = route.session;
  return { key, upstreamId, caller, initialize: initialize === undefined ? undefined : storedInitialize(initialize) };
}

/**
 * A JSON-RPC id, as JSON text, that is unique across all processes. Callers who share an upstream session can choose
 * equal ids, and upstreams tell requests apart by the id alone. The id is so unlikely to occur elsewhere that an answer
 * can be recognized by it without parsing.
 */
export function uniqueId(): string {
  return `${PREFIX}${(count++).toString(36)}"`;
}
