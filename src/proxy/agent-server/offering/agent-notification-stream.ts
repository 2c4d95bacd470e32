import { Injectable } from '@nestjs/common';
import { InMemoryServerEventBus } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import { isRecord } from '../../../core/is-record.js';
import { EventStream } from '../../../upstreams/messages/sse-parts.js';
import { listChangedMethod, LISTED_KINDS, type ListedKind } from '../../../upstreams/contract/list-change.js';
import { untilClosed } from '../../../platform/http/once-closed.js';
import { ReplyWriter } from '../../forwarding/reply-writer.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../../forwarding/session/session-streams.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import { HostedMcp } from '../../protocol/hosted-mcp.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { keepAlive } from '../../forwarding/relay/keep-alive.js';
import { SessionSubscriptions } from '../../translation/subscriptions/session-subscriptions.js';
import { wantedResources } from '../../translation/subscriptions/subscription-filter.js';
import { type AgentServerContext, AgentMcpServer } from './agent-mcp-server.js';
import { AgentSubscriptions } from './agent-subscriptions.js';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import { type Composition, OFFER_KINDS, type OfferKind } from '../../../agents/composition/composition.js';
import { OfferLists } from '../../../agents/composition/offer-lists.js';
import { mayUse } from './agent-permissions.js';
import { toolListTexts } from './agent-tool-list.js';

/** Polling finds the changes of other processes, and keeps the lists fresh while there are no calls. */
const POLL_INTERVAL_MS = 15_000;
/** Changes within this time are reported together. */
const DEBOUNCE_MS = 100;

/** The state of the lists at the last notification of the caller. */
interface Snapshot {
  /** Differ when the lists do. */
  readonly digests: Readonly<Record<ListedKind, string>>;
  readonly memberIds: ReadonlySet<string>;
}

/** Detects when the lists of an agent change for one caller. */
@Injectable()
export class ListChanges {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: OfferLists,
  ) {}

  /** Yields the kind of each list that changes, until the signal is aborted. */
  async *changesFor(caller: ProxyCaller, signal: AbortSignal): AsyncGenerator<ListedKind> {
    let previous: Snapshot | undefined;
    let changed = new AbortController();
    const onChange = (id: string): void => {
      if (previous?.memberIds.has(id) !== false) changed.abort();
    };
    const stops = [this.compositions.onChange(onChange), this.offers.onChange(onChange)];
    try {
      while (!signal.aborted) {
        changed = new AbortController();
        const current = await this.takeSnapshot(caller);
        const differing = previous === undefined || current === undefined ? [] : differingKinds(previous, current);
        previous = current ?? previous;
        yield* differing;
        await sleep(POLL_INTERVAL_MS, undefined, { signal: AbortSignal.any([signal, changed.signal]) }).catch(
          () => undefined,
        );
        if (!signal.aborted) await sleep(DEBOUNCE_MS);
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Undefined if the lists cannot be determined. */
  private async takeSnapshot(caller: ProxyCaller): Promise<Snapshot | undefined> {
    try {
      const composition = await this.compositions.compositionOf(caller.connection);
      const [prompts, resources] = OFFER_KINDS.map((kind) => this.offersVersion(caller, composition, kind));
      const list = await toolListTexts(caller, composition, { isWhole: true, hasApps: true });
      const digests = {
        tools: [...list.tools, list.others]
          .reduce((digest, text) => digest.update(text), createHash('sha256'))
          .digest('hex'),
        prompts: prompts ?? '',
        // The pages of tools decide on the addresses of resources too.
        resources: `${resources ?? ''}\n${sharedPages(composition).join('\n')}`,
      };
      return { digests, memberIds: composition.memberIds };
    } catch {
      return undefined;
    }
  }

  /** A text that changes when the caller's prompts or resources do. Sends no requests to upstreams. */
  private offersVersion(caller: ProxyCaller, { sources }: Composition, kind: OfferKind): string {
    return sources
      .filter((source) => mayUse(caller, source, kind))
      .map(({ connection: { id, revision }, prefix }) =>
        [id, revision, prefix, this.offers.generationOf(id, kind)].join(' '),
      )
      .join('\n');
  }
}

/** The pages that several connections have. */
function sharedPages({ pages }: Composition): string[] {
  return [...pages].filter(([, owners]) => owners.size > 1).map(([uri, owners]) => [uri, ...owners].join(' '));
}

function differingKinds(previous: Snapshot, current: Snapshot): ListedKind[] {
  return LISTED_KINDS.filter((kind) => previous.digests[kind] !== current.digests[kind]);
}

/**
 * Notifies clients of an agent when its tools, prompts or resources change, and the resources that they have subscribed
 * to. In a session of the legacy era they also get the log messages that an answer leaves out.
 */
@Injectable()
export class AgentNotificationStream {
  constructor(
    private readonly changes: ListChanges,
    private readonly servers: AgentMcpServer,
    private readonly writer: ReplyWriter,
    private readonly subscriptions: AgentSubscriptions,
    private readonly sessions: SessionSubscriptions,
    private readonly streams: SessionStreams,
    private readonly rooms: AnswerRooms,
  ) {}

  /** For a session of the legacy era (GET of the MCP transport). */
  listen(request: FastifyRequest, reply: FastifyReply, caller: ProxyCaller, session: Session): void {
    const body = keepAlive(this.events({ caller, session }, untilClosed(reply)));
    this.writer.writeReply(request, reply, { status: 200, contentType: 'text/event-stream', body }, {});
  }

  /**
   * For the modern era (`subscriptions/listen`). Each subscription has its own server, so that it receives the
   * notifications of its agent only and does not affect other callers.
   * @param message the parsed body
   * @throws DomainError `invalid_arguments`; UpstreamError `busy`
   */
  async subscribe(
    request: FastifyRequest,
    reply: FastifyReply,
    message: Record<string, unknown>,
    context: AgentServerContext & { readonly exchange: McpRequestContext },
  ): Promise<void> {
    const bus = new InMemoryServerEventBus();
    const hosted = new HostedMcp<AgentServerContext>((current) => this.servers.for(current), { bus });
    const closed = untilClosed(reply);
    if (closed.aborted) return;
    closed.addEventListener('abort', () => void hosted.close(), { once: true });
    this.writer.watchPermissions(request, reply);
    const { caller, exchange } = context;
    const { params = {} } = message as { params?: { notifications?: unknown } };
    const { notifications } = params;
    const wanted = isRecord(notifications) ? wantedResources(notifications) : [];
    const { uris, stop } = await this.subscriptions.watch(caller, exchange.message, wanted, {
      onUpdate: (uri) => void bus.publish({ kind: 'resource_updated', uri }),
      signal: closed,
    });
    if (closed.aborted) {
      stop();
      return;
    }
    closed.addEventListener('abort', stop, { once: true });
    void this.publish(caller, bus, closed);
    // The server acknowledges everything that it is asked for.
    const acknowledged =
      wanted.length === 0
        ? message
        : {
            ...message,
            params: { ...params, notifications: { ...(notifications as object), resourceSubscriptions: uris } },
          };
    await hosted.answerRequest(request, reply, acknowledged, {
      ...context,
      features: { ...context.features, subscriptions: true },
    });
  }

  private async publish(caller: ProxyCaller, bus: InMemoryServerEventBus, closed: AbortSignal): Promise<void> {
    for await (const kind of this.changes.changesFor(caller, closed)) bus.publish({ kind: `${kind}_list_changed` });
  }

  /** The notifications in a session of the legacy era, as events. */
  async *events(client: { caller: ProxyCaller; session: Session }, closed: AbortSignal): AsyncGenerator<Buffer> {
    const stream = new EventStream(() => this.rooms.open(client.caller.principal));
    // Without a listener, an error would end this process.
    stream.on('error', () => undefined);
    this.streams.add(client.session, stream);
    const stop = this.sessions.listen(client);
    const end = (): void => void stream.destroy();
    closed.addEventListener('abort', end, { once: true });
    this.report(client.caller, stream, closed).catch((error: Error) => stream.destroy(error));
    try {
      for await (const event of stream) yield event as Buffer;
    } catch (error) {
      if (!closed.aborted) throw error;
    } finally {
      closed.removeEventListener('abort', end);
      stop();
      stream.destroy();
    }
  }

  private async report(caller: ProxyCaller, stream: EventStream, closed: AbortSignal): Promise<void> {
    for await (const kind of this.changes.changesFor(caller, closed)) {
      if (!stream.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: listChangedMethod(kind) })))) return;
    }
  }
}
