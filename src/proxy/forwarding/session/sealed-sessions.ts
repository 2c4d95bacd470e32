import { Injectable } from '@nestjs/common';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { AppConfig } from '../../../core/config/app-config.js';
import { databaseNow } from '../../../core/database-time.js';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import type { Principal } from '../../../core/principal.js';
import type { Connection } from '../../../connections/connection.js';
import { withoutSlot, withSlot } from '../../../platform/http/session-slots.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { OutgoingMessage } from '../../../upstreams/messages/upstream-channel.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';

/** A caller's MCP session, read from its session id. The service does not store it. */
export interface Session {
  /** Unique; identifies the state that a process keeps for the session. */
  readonly key: string;
  /** The session that the upstream opened; absent for an upstream without sessions. */
  readonly upstreamId?: string;
  /** The caller's `initialize` request as JSON text, for an upstream process that must be restarted. */
  readonly initialize?: string;
  /** The client declared capabilities, so the upstream may list other tools to it. */
  readonly hasOwnTools: boolean;
  /** The client declared that it asks people to open URLs. */
  readonly hasUrlElicitation?: true;
  /** The client declared the extension MCP Apps. */
  readonly hasApps?: true;
  /** The requests that the client declared to answer, in a session whose calls are sent in a session of the service. */
  readonly answers?: ClientCapabilities;
  /**
   * Requests in this session are sent in a session of the service. Either the upstream supports only the modern era, or
   * it is a program and the caller has no credential.
   */
  readonly isTranslated?: true;
  /**
   * Opened while a person had to sign in at the upstream first. The sign-in does not end it, because it holds nothing
   * of the upstream.
   */
  readonly isStandIn?: true;
  readonly revision: number;
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
}

/** How long a session lasts. */
export const MAX_AGE_MS = 24 * 60 * 60_000;
/** The service does not issue longer ids. */
const MAX_ID_LENGTH = 8 * 1024;

/**
 * Turns sessions into session ids and back (MCP 2025-11-25, "Session Management"). An id is the encrypted session, so
 * any process can open it. It is valid only for the principal, organization and connection that it was issued for, and
 * only until the connection is edited, because the upstream's session was opened with the old credentials.
 */
@Injectable()
export class SealedSessions {
  constructor(
    private readonly vault: VaultService,
    private readonly config: AppConfig,
  ) {}

  seal(
    session: Pick<
      Session,
      | 'upstreamId'
      | 'initialize'
      | 'hasOwnTools'
      | 'hasUrlElicitation'
      | 'hasApps'
      | 'answers'
      | 'isTranslated'
      | 'isStandIn'
    > & {
      key?: string;
    },
    connection: Connection,
    caller: Principal | undefined,
  ): string {
    const complete: Session = { key: newId(), ...session, revision: connection.revision, openedAt: databaseNow() };
    // An envelope is visible ASCII, as a session id must be.
    const id = this.vault.seal(JSON.stringify(complete), contextOf(connection, caller));
    const { slot } = this.config;
    return slot === undefined || hasAllState(complete) ? id : withSlot(id, slot.number);
  }

  /** @throws DomainError `session_not_found`, which makes an MCP client open a new session */
  open(id: string, connection: Connection, caller: Principal | undefined): Session {
    if (id.length > MAX_ID_LENGTH) throw unknownSession();
    let session: Session;
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      session = JSON.parse(this.vault.open(withoutSlot(id), contextOf(connection, caller))) as Session;
    } catch {
      throw unknownSession();
    }
    const isOutdated = session.revision !== connection.revision && session.isStandIn !== true;
    const isOver = isOutdated || databaseNow() - session.openedAt > MAX_AGE_MS;
    if (isOver) throw unknownSession();
    return session;
  }
}

/** True if the upstream has all state of the session, so that each process continues it equally well. */
function hasAllState({ upstreamId, isTranslated }: Session): boolean {
  return upstreamId !== undefined && isTranslated !== true;
}

function contextOf({ id, organizationId }: Connection, caller: Principal | undefined): string {
  return `mcp-session:${organizationId}:${id}:${caller?.callerId ?? 'anonymous'}`;
}

export function unknownSession(): DomainError {
  return new DomainError(
    'session_not_found',
    'The session is unknown or has ended. Send `initialize` to open a new one.',
  );
}

/** A session id is sent in a header, so its content must stay small. */
const MAX_INITIALIZE_LENGTH = 2 * 1024;
const INITIALIZE_ID = '"signalbox-initialize"';

/**
 * True if the client declared capabilities (sampling, elicitation, roots). An upstream may list other tools to such a
 * client.
 */
export function declaresCapabilities({ params }: InboundMessage): boolean {
  const { capabilities } = params;
  return typeof capabilities === 'object' && capabilities !== null && Object.keys(capabilities).length > 0;
}

/**
 * The part of an `initialize` request that is stored to repeat it to a new process of the same program, as JSON text.
 * @throws DomainError `invalid_rpc_request` if it is too large to store
 */
export function toStoredInitialize({ params }: InboundMessage): string {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
  const text = JSON.stringify({ protocolVersion, capabilities, clientInfo: { name, version } });
  if (text.length > MAX_INITIALIZE_LENGTH) {
    throw new DomainError(
      'invalid_rpc_request',
      'The params of `initialize` are too large for a session with a STDIO connection.',
    );
  }
  return text;
}

/** The request that repeats a stored `initialize`. */
export function storedInitialize(text: string): OutgoingMessage {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${INITIALIZE_ID},"method":"initialize","params":${text}}`);
  return { body, method: 'initialize', id: INITIALIZE_ID };
}
