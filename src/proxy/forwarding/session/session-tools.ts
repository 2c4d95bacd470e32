import { Injectable } from '@nestjs/common';
import { type AnswerRoom, AnswerRooms } from '../../../core/answers/answer-room.js';
import type { Connection } from '../../../connections/connection.js';
import { OfferedTools } from '../../../upstreams/catalog/offered-tools.js';
import { FRESH_MS, ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import { TtlCache } from '../../../core/ttl-cache.js';
import { type ToolList, toToolList } from '../../../upstreams/catalog/tool-list.js';
import { type SessionAtUpstream, UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { ExchangeOptions, UpstreamChannel } from '../../../upstreams/messages/upstream-channel.js';
import type { StateOwner } from '../../../upstreams/contract/callers.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { PooledRoute } from '../upstream-router.js';
import { ToolPins } from '../../../upstreams/pins/tool-pins.js';
import { collectTools, type ToolPage } from '../../../upstreams/contract/tool-listing.js';
import { type UpstreamTool, isTool } from '../../../upstreams/contract/upstream.js';
import { UpstreamError, UpstreamMisbehaviour, toUpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { messagesIn } from '../../../upstreams/messages/sse-parts.js';

const MAX_SESSIONS = 1_000;
/** The total of all lists, in UTF-16 code units of their JSON text. */
const MAX_SIZE = 32 * 1024 * 1024;

/** A session that the service has opened for an owner. */
interface PooledSession {
  readonly key: string;
  readonly owner: StateOwner | undefined;
}

type ListingSession = SessionAtUpstream | PooledSession;

/** The session of this route, as one with tools of its own. */
export function pooledSession({ owner }: PooledRoute, { connection }: ProxyCaller): PooledSession {
  return { key: `${connection.id} ${connection.revision} ${owner?.key}`, owner };
}

/**
 * The tool lists of sessions whose callers declared capabilities. An upstream can list tools that need sampling, for
 * example, to those only. A list is read when such a session first calls a tool, and again when its upstream reports a
 * change. Where the connection blocks tools, a list is also read again once it is outdated.
 */
@Injectable()
export class SessionTools {
  private readonly lists = new TtlCache<ToolList>({
    maxEntries: MAX_SESSIONS,
    weight: { max: MAX_SIZE, of: ({ size }) => size },
  });

  constructor(
    private readonly catalog: ToolCatalog,
    private readonly channels: UpstreamChannels,
    private readonly pins: ToolPins,
    private readonly offered: OfferedTools,
    private readonly rooms: AnswerRooms,
  ) {}

  async toolsOf(connection: Connection, session: ListingSession, options: ExchangeOptions): Promise<ToolList> {
    const list = await this.listOf(connection, session, options);
    // Programs report changes of their lists outside of the answers that this service reads.
    const mayBeOutdated = connection.pin === 'block' || 'owner' in session;
    if (!mayBeOutdated || Date.now() - list.at <= FRESH_MS) return this.offered.offerOf(connection, list);
    this.forget(session.key);
    return this.offered.offerOf(connection, await this.listOf(connection, session, options));
  }

  private listOf(
    connection: Connection,
    session: ListingSession,
    options: ExchangeOptions,
  ): ToolList | Promise<ToolList> {
    return this.lists.get(session.key, async () => {
      const channel =
        'owner' in session
          ? this.channels.pooled(connection, session.owner)
          : await this.channels.session(connection, session);
      return this.rooms.withOwnRoom(connection.organizationId, async (room) => {
        const tools = await listThroughChannel(channel, connection.organizationId, { ...options, room });
        await this.pins.recordList(connection, tools, false);
        return toToolList(tools, Date.now());
      });
    });
  }

  /**
   * Call when the upstream reports that its list of tools has changed.
   * @param sessionKey of the session that received the report, if it has its own tools
   */
  listChanged(connection: Connection, sessionKey: string | undefined): void {
    if (sessionKey !== undefined) this.forget(sessionKey);
    this.catalog.refresh(connection);
  }

  forget(sessionKey: string): void {
    this.lists.forget(sessionKey);
  }
}

type PostingChannel = Pick<UpstreamChannel, 'postMessage'>;

interface ListingOptions extends ExchangeOptions {
  readonly room: AnswerRoom;
}

const ADDRESS = 'the end of the session';

/**
 * Lists all pages of an upstream's tools in the session of this channel.
 * @throws UpstreamError
 */
async function listThroughChannel(
  channel: PostingChannel,
  organizationId: string,
  options: ListingOptions,
): Promise<UpstreamTool[]> {
  try {
    return await collectTools((cursor) => readPage(channel, organizationId, cursor, options));
  } catch (error) {
    throw error instanceof UpstreamError ? error : toUpstreamError(error, ADDRESS);
  }
}

let count = 0;

async function readPage(
  channel: PostingChannel,
  organizationId: string,
  cursor: string | undefined,
  { room, ...exchange }: ListingOptions,
): Promise<ToolPage> {
  // An id that the caller does not use in the same session.
  const id = `signalbox-list-${count++}`;
  const params = cursor === undefined ? {} : { params: { cursor } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', ...params }));
  const answer = await channel.postMessage({ body, method: 'tools/list', id: JSON.stringify(id) }, exchange);
  // What the SDK's client reads would take the room while it is read, and here again.
  for await (const text of messagesIn(answer, organizationId, room)) {
    const message = JSON.parse(text) as { id?: unknown; result?: { tools?: unknown; nextCursor?: unknown } };
    if (message.id !== id) continue;
    const { tools, nextCursor } = message.result ?? {};
    if (!Array.isArray(tools) || !tools.every(isTool)) break;
    return { tools, ...(typeof nextCursor === 'string' && { nextCursor }) };
  }
  throw new UpstreamMisbehaviour('did not list its tools');
}
