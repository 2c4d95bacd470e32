import { once, setMaxListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Source } from '../../../agents/composition/composition.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { dataOf, sseParts } from '../../../upstreams/messages/sse-parts.js';
import { untilClosed } from '../../../http/once-closed.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import { sessionAtUpstream } from '../../forwarding/upstream-sender.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { SessionTools } from '../../forwarding/session/session-tools.js';
import { mayUse, mayUseAny } from '../offering/agent-permissions.js';
import { AgentNotificationStream } from '../offering/agent-notification-stream.js';
import { headersOf, type ClientUpstreamSession, type SessionOwner } from './client-upstream-session.js';
import { ClientUpstreamSessions } from './client-upstream-sessions.js';
import { type EventIdRewriter, rewriteEventIds } from './rewrite-event-ids.js';
import { RequestIdCodec } from './request-id.codec.js';
import { SessionComposition } from './session-composition.js';
import { type AnswerBody, discard } from '../../../upstreams/messages/answer-body.js';
import { parseMessage } from '../../forwarding/relay/complete-answer.js';
import { filteredEvent } from '../../forwarding/relay/relay-unsolicited.js';

/** Bytes of events that wait for a slow caller before the upstreams have to wait as well. */
const MAX_WAITING = 64 * 1024;
/** Between two attempts to listen to an upstream. */
const RETRY_MS = 5_000;
/** The tools of an agent are listed by the agent alone, and it has no tasks. */
const NO_LISTS = { shows: () => false, ownsTask: () => false };
const TOOLS_CHANGED = 'notifications/tools/list_changed';
/** What is told only to callers who may use that kind. */
const OF_KINDS = [
  ['notifications/resources/', 'resources'],
  ['notifications/prompts/', 'prompts'],
] as const;

/** Whom of what is listened to. */
interface Listened {
  readonly owner: SessionOwner;
  readonly member: ClientUpstreamSession;
  readonly source: Source;
}

/** What the connections of an agent send unasked to a client that answers requests, as one stream. */
@Injectable()
export class ClientSessionStreams {
  constructor(
    private readonly members: ClientUpstreamSessions,
    private readonly compositions: SessionComposition,
    private readonly addresses: RequestIdCodec,
    private readonly channels: UpstreamChannels,
    private readonly tools: SessionTools,
    private readonly agent: AgentNotificationStream,
    private readonly writer: ReplyWriter,
  ) {}

  /** Answers GET: with the rest of an answer that broke off, if the request names one, else with what is sent unasked. */
  async listen(request: FastifyRequest, reply: FastifyReply, owner: SessionOwner): Promise<void> {
    // The caller may end its session in another request.
    const signal = AbortSignal.any([untilClosed(reply), this.members.endOf(owner)]);
    // As many as the agent has connections.
    setMaxListeners(0, signal);
    const lastEventId = request.headers['last-event-id'];
    const resumed = typeof lastEventId === 'string' ? await this.resume(owner, lastEventId, signal) : undefined;
    const body = keepAlive(resumed ?? this.unasked(owner, signal), 0);
    this.writer.write(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
  }

  /** The events of the agent and of all connections that the caller may use anything of, until the signal is aborted. */
  private async *unasked(owner: SessionOwner, signal: AbortSignal): AsyncGenerator<Buffer> {
    const release = this.members.hold(owner);
    const merged = new PassThrough({ highWaterMark: MAX_WAITING });
    // A stream that is given up while somebody writes into it fails; that is all.
    merged.on('error', () => undefined);
    signal.addEventListener('abort', () => merged.destroy(), { once: true });
    try {
      const composition = await this.compositions.of(owner);
      for (const source of composition.sources) {
        if (mayUseAny(owner.caller, composition, source.connection.id))
          void this.pump(owner, source.connection.id, merged, signal);
      }
      void pour(this.agent.events(owner.caller, signal), merged, signal).catch(() => undefined);
      for await (const event of merged) yield event as Buffer;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      merged.destroy();
      release();
    }
  }

  /** Undefined if nothing of this id can be resumed. @throws DomainError */
  private async resume(
    owner: SessionOwner,
    lastEventId: string,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<Buffer> | undefined> {
    const at = this.addresses.eventAt(lastEventId);
    if (at === undefined) return undefined;
    const composition = await this.compositions.of(owner);
    const source = composition.sources.find(({ connection }) => connection.id === at.connectionId);
    if (source === undefined || !mayUseAny(owner.caller, composition, at.connectionId)) return undefined;
    const member = await this.members.of(owner, source.connection);
    if (member === undefined) return undefined;
    const body = await this.listenTo(owner, member, signal, { 'last-event-id': at.eventId });
    return body && this.events(body, this.addresses.forAnswer(owner, member, at.callerId), { owner, member, source });
  }

  /** Listens to one connection for as long as it lets itself be listened to. */
  private async pump(
    owner: SessionOwner,
    connectionId: string,
    merged: PassThrough,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && !merged.destroyed) {
      if (!(await this.listensOn(owner, connectionId, merged, signal))) return;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the stream ends; false for an upstream that sends nothing unasked. Never rejects. */
  private async listensOn(
    owner: SessionOwner,
    connectionId: string,
    merged: PassThrough,
    signal: AbortSignal,
  ): Promise<boolean> {
    let member: ClientUpstreamSession | undefined;
    try {
      // It may have been edited, switched off or taken away meanwhile.
      const composition = await this.compositions.of(owner);
      const source = composition.sources.find(({ connection }) => connection.id === connectionId);
      if (source === undefined || !mayUseAny(owner.caller, composition, connectionId)) return true;
      member = await this.members.of(owner, source.connection);
      if (member === undefined) return true;
      const body = await this.listenTo(owner, member, signal, {});
      if (body === undefined) return false;
      await pour(this.events(body, this.addresses.forStream(owner, member), { owner, member, source }), merged, signal);
    } catch (error) {
      // Else the upstream or the database is away, or the caller has gone.
      const isLost = error instanceof UpstreamError && error.kind === 'session_lost';
      if (isLost && member !== undefined) await this.members.renew(owner, member).catch(() => undefined);
    }
    return true;
  }

  /** Undefined for an upstream that sends nothing unasked. */
  private async listenTo(
    { caller: { key: caller } }: SessionOwner,
    member: ClientUpstreamSession,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<AnswerBody | undefined> {
    const { connection, session } = member;
    const channel = await this.channels.session(connection, sessionAtUpstream({ kind: 'session', session }));
    const answer = await channel.listen({ signal, caller, headers: { ...headersOf(member), ...headers } });
    if (answer.contentType === 'text/event-stream') return answer.body;
    discard(answer.body);
    return undefined;
  }

  private async *events(
    body: AnswerBody,
    addressing: EventIdRewriter,
    { owner: { caller }, member, source }: Listened,
  ): AsyncGenerator<Buffer> {
    try {
      for await (const { bytes, isWhole } of sseParts(body)) {
        if (!isWhole) return;
        // As a client reads it: the same name can be written in other bytes.
        const method = String(parseMessage(dataOf(bytes) ?? '')?.['method']);
        if (method === TOOLS_CHANGED) this.tools.listChanged(source.connection, member.session.key);
        const isHeard = OF_KINDS.every(([prefix, kind]) => !method.startsWith(prefix) || mayUse(caller, source, kind));
        const event = isHeard ? rewriteEventIds(bytes, addressing) : undefined;
        const allowed = event && filteredEvent(event, NO_LISTS);
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
