import { once, setMaxListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Source } from '../../../agents/composition/composition.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { dataOf, sseParts } from '../../../upstreams/messages/sse-parts.js';
import { untilClosed } from '../../../platform/http/once-closed.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { mayUse, mayUseAny } from '../offering/agent-permissions.js';
import { AgentNotificationStream } from '../offering/agent-notification-stream.js';
import { isUpdate } from '../offering/renamed-resource.js';
import { headersOf, type ClientUpstreamSession, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { type EventIdRewriter, rewriteEventIds, RequestIdCodec } from './request-id.codec.js';
import { SessionComposition } from './session-composition.js';
import { SessionResources } from './session-resources.js';
import { type AnswerBody, discard } from '../../../upstreams/messages/answer-body.js';
import { parseRecord } from '../../../core/is-record.js';
import { filteredEvent } from '../../forwarding/relay/relay-unsolicited.js';

/** How many bytes of events are buffered for a slow caller before reading from the upstreams pauses. */
const MAX_WAITING = 64 * 1024;
/** The delay between two attempts to listen to an upstream. */
const RETRY_MS = 5_000;
/** Only the agent lists its tools, and it has no tasks. */
const NO_TOOLS_OR_TASKS = { shows: () => false, ownsTask: () => false };
const TOOLS_CHANGED = 'notifications/tools/list_changed';
/** Notifications that are sent only to callers who are permitted to use that kind. */
const KINDS_BY_PREFIX = [
  ['notifications/resources/', 'resources'],
  ['notifications/prompts/', 'prompts'],
] as const;

interface ListenedSession {
  readonly owner: SessionOwner;
  readonly upstreamSession: ClientUpstreamSession;
  readonly source: Source;
}

/** Merges the unsolicited messages of an agent's connections into one stream, for a client that answers requests. */
@Injectable()
export class ClientSessionStreams {
  constructor(
    private readonly upstreamSessions: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly requestIds: RequestIdCodec,
    private readonly channels: UpstreamChannels,
    private readonly tools: SessionTools,
    private readonly resources: SessionResources,
    private readonly agent: AgentNotificationStream,
    private readonly writer: ReplyWriter,
  ) {}

  /**
   * Answers GET for a session with an agent. Clients that answer no requests get the notifications of the agent alone.
   */
  async listenToAgent(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: ProxyCaller,
    session: Session,
  ): Promise<void> {
    const owner = this.upstreamSessions.ownerOf(caller, session);
    if (owner === undefined) this.agent.listen(request, reply, caller, session);
    else await this.listen(request, reply, owner);
  }

  /**
   * Answers with the rest of an interrupted answer if the request names one, otherwise with the unsolicited messages.
   */
  private async listen(request: FastifyRequest, reply: FastifyReply, owner: SessionOwner): Promise<void> {
    // The caller can end its session in another request.
    const signal = AbortSignal.any([untilClosed(reply), this.upstreamSessions.endOf(owner)]);
    // Each connection of the agent adds a listener.
    setMaxListeners(0, signal);
    const lastEventId = request.headers['last-event-id'];
    const resumed = typeof lastEventId === 'string' ? await this.resume(owner, lastEventId, signal) : undefined;
    const body = keepAlive(resumed ?? this.unsolicited(owner, signal));
    this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
  }

  /**
   * The events of the agent, and of its connections that the caller is permitted to use, until the signal is aborted.
   */
  private async *unsolicited(owner: SessionOwner, signal: AbortSignal): AsyncGenerator<Buffer> {
    const release = this.upstreamSessions.hold(owner);
    const merged = new PassThrough({ highWaterMark: MAX_WAITING });
    // Destroying the stream during a write emits an error, which can be ignored.
    merged.on('error', () => undefined);
    signal.addEventListener('abort', () => merged.destroy(), { once: true });
    try {
      const composition = await this.compositions.compositionOf(owner);
      for (const source of composition.sources) {
        if (mayUseAny(owner.caller, composition, source.connection.id))
          void this.pump(owner, source.connection.id, merged, signal);
      }
      void pour(this.agent.events(owner, signal), merged, signal).catch(() => undefined);
      for await (const event of merged) yield event as Buffer;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      merged.destroy();
      release();
    }
  }

  /** Undefined if the event id does not name a stream that can be resumed. @throws DomainError */
  private async resume(
    owner: SessionOwner,
    lastEventId: string,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<Buffer> | undefined> {
    const at = this.requestIds.eventAt(lastEventId);
    if (at === undefined) return undefined;
    const composition = await this.compositions.compositionOf(owner);
    const source = composition.sources.find(({ connection }) => connection.id === at.connectionId);
    if (source === undefined || !mayUseAny(owner.caller, composition, at.connectionId)) return undefined;
    const upstreamSession = await this.upstreamSessions.sessionWith(owner, source.connection);
    if (upstreamSession === undefined) return undefined;
    const body = await this.listenTo(owner, upstreamSession, signal, { 'last-event-id': at.eventId });
    return (
      body &&
      this.events(body, this.requestIds.forAnswer(owner, upstreamSession, at.callerId), {
        owner,
        upstreamSession,
        source,
      })
    );
  }

  /** Listens to one connection until the signal is aborted or its upstream proves to send no unsolicited messages. */
  private async pump(
    owner: SessionOwner,
    connectionId: string,
    merged: PassThrough,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && !merged.destroyed) {
      if (!(await this.listenOnce(owner, connectionId, merged, signal))) return;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the stream ends; false for an upstream without unsolicited messages. Never rejects. */
  private async listenOnce(
    owner: SessionOwner,
    connectionId: string,
    merged: PassThrough,
    signal: AbortSignal,
  ): Promise<boolean> {
    let upstreamSession: ClientUpstreamSession | undefined;
    try {
      // The connection may have been edited, deactivated or removed in the meantime.
      const composition = await this.compositions.compositionOf(owner);
      const source = composition.sources.find(({ connection }) => connection.id === connectionId);
      if (source === undefined || !mayUseAny(owner.caller, composition, connectionId)) return true;
      upstreamSession = await this.upstreamSessions.sessionWith(owner, source.connection);
      if (upstreamSession === undefined) return true;
      const body = await this.listenTo(owner, upstreamSession, signal, {});
      if (body === undefined) return false;
      await pour(
        this.events(body, this.requestIds.forStream(owner, upstreamSession), { owner, upstreamSession, source }),
        merged,
        signal,
      );
    } catch (error) {
      // Otherwise the upstream or the database is unavailable, or the caller has disconnected.
      const isLost = error instanceof UpstreamError && error.kind === 'session_lost';
      if (isLost && upstreamSession !== undefined)
        await this.upstreamSessions.renew(owner, upstreamSession).catch(() => undefined);
    }
    return true;
  }

  /** Undefined for an upstream without unsolicited messages. */
  private async listenTo(
    { caller: { key: caller } }: SessionOwner,
    upstreamSession: ClientUpstreamSession,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<AnswerBody | undefined> {
    const { connection, session } = upstreamSession;
    const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
    const answer = await channel.listen({ signal, caller, headers: { ...headersOf(upstreamSession), ...headers } });
    if (answer.contentType === 'text/event-stream') return answer.body;
    discard(answer.body);
    return undefined;
  }

  private async *events(
    body: AnswerBody,
    rewriter: EventIdRewriter,
    listened: ListenedSession,
  ): AsyncGenerator<Buffer> {
    const { owner, upstreamSession, source } = listened;
    try {
      for await (const { bytes, isWhole } of sseParts(body)) {
        if (!isWhole) return;
        // Parsed as a client does, because the same name can be written with escapes.
        const message = parseRecord(dataOf(bytes) ?? '');
        const method = String(message?.['method']);
        if (method === TOOLS_CHANGED) this.tools.listChanged(source.connection, upstreamSession.session.key);
        const isPermitted = KINDS_BY_PREFIX.every(
          ([prefix, kind]) => !method.startsWith(prefix) || mayUse(owner.caller, source, kind),
        );
        if (!isPermitted) continue;
        const address = isUpdate(message) ? await this.resources.addressesFor(owner, upstreamSession) : undefined;
        const event = rewriteEventIds(bytes, address === undefined ? rewriter : { ...rewriter, address });
        const allowed = event && filteredEvent(event, NO_TOOLS_OR_TASKS);
        if (allowed !== undefined) yield allowed;
      }
    } finally {
      discard(body);
    }
  }
}

async function pour(events: AsyncGenerator<Buffer>, into: PassThrough, signal: AbortSignal): Promise<void> {
  for await (const event of events) {
    if (!into.write(event)) await once(into, 'drain', { signal });
  }
}
