import { Injectable } from '@nestjs/common';
import { type AnswerRoom, AnswerRooms } from '../../../core/answers/answer-room.js';
import { databaseNow } from '../../../core/database-time.js';
import { newId } from '../../../core/ids.js';
import type { Connection } from '../../../connections/connection.js';
import { messagesIn } from '../../../upstreams/messages/sse-parts.js';
import { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { UpstreamHealth } from '../../../upstreams/pool/upstream-health.js';
import { parseRecord } from '../../../core/is-record.js';
import { storedInitialize } from '../../forwarding/session/sealed-sessions.js';
import { headersOf, type ClientUpstreamSession } from './client-upstream-session.js';
import { discard } from '../../../upstreams/messages/answer-body.js';

const INITIALIZED = {
  method: 'notifications/initialized',
  body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
};
/** The id of the request that sets a log level. */
const LEVEL_ID = '"signalbox-level"';
/** Longer session ids do not fit into the ids of relayed requests. */
const MAX_UPSTREAM_ID_LENGTH = 256;
const END_TIMEOUT_MS = 5_000;

/** Opens and ends sessions with the connections of an agent in a caller's name (MCP 2025-11-25, "Initialization"). */
@Injectable()
export class ClientUpstreamSessionOpener {
  constructor(
    private readonly channels: UpstreamChannels,
    private readonly health: UpstreamHealth,
    private readonly rooms: AnswerRooms,
  ) {}

  /**
   * @param initialize the params of the caller's `initialize` as JSON text
   * @param level the log level that the caller has set
   * @throws DomainError `connection_unavailable`, UpstreamError
   */
  openSession(
    connection: Connection,
    initialize: string,
    level: string | undefined,
    signal: AbortSignal,
  ): Promise<ClientUpstreamSession> {
    return this.health.watchCall(connection, async () => {
      const key = newId();
      const opening = await this.channels.session(connection, { key });
      const answer = await opening.postMessage(storedInitialize(initialize), { signal });
      const { organizationId } = connection;
      const protocolVersion = await this.rooms.withOwnRoom(organizationId, (room) =>
        agreedVersion(answer, organizationId, room),
      );
      const { sessionId: upstreamId } = answer;
      // Without an id, the session could not be told from those of other callers.
      const isOpen = upstreamId !== undefined && upstreamId.length <= MAX_UPSTREAM_ID_LENGTH;
      if (protocolVersion === undefined || !isOpen) {
        throw new UpstreamError('protocol', 'The upstream did not open a session.');
      }
      const { revision } = connection;
      const session = { key, upstreamId, hasOwnTools: true, revision, openedAt: databaseNow() };
      const channel = await this.channels.session(connection, { key, upstreamId });
      const headers = headersOf({ protocolVersion });
      discard((await channel.postMessage(INITIALIZED, { signal, headers })).body);
      if (level !== undefined) discard((await channel.postMessage(setLevel(level), { signal, headers })).body);
      return { connection, session, protocolVersion };
    });
  }

  /** Never rejects. */
  async endSession({
    connection,
    session: { key, upstreamId },
    protocolVersion,
  }: ClientUpstreamSession): Promise<void> {
    try {
      const channel = await this.channels.session(connection, { key, upstreamId });
      const signal = AbortSignal.timeout(END_TIMEOUT_MS);
      discard((await channel.end({ signal, headers: headersOf({ protocolVersion }) })).body);
    } catch {
      // The upstream's own idle timeout ends the session.
    }
  }
}

/** Undefined if the answer is not an `initialize` result. */
async function agreedVersion(
  answer: Parameters<typeof messagesIn>[0],
  organizationId: string,
  room: AnswerRoom,
): Promise<string | undefined> {
  for await (const text of messagesIn(answer, organizationId, room)) {
    const result = parseRecord(text)?.['result'] as { protocolVersion?: unknown } | null | undefined;
    if (typeof result?.protocolVersion === 'string') return result.protocolVersion;
  }
  return undefined;
}

export function setLevel(level: string): { method: string; id: string; body: Buffer } {
  const params = JSON.stringify({ level });
  const body = `{"jsonrpc":"2.0","id":${LEVEL_ID},"method":"logging/setLevel","params":${params}}`;
  return { method: 'logging/setLevel', id: LEVEL_ID, body: Buffer.from(body) };
}
