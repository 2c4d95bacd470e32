import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../common/domain-error.js';
import { newId } from '../../../common/ids.js';
import type { Principal } from '../../../common/principal.js';
import type { Connection } from '../../../connections/connection.js';
import { VaultService } from '../../../vault/vault.service.js';

/** An MCP session of a caller, as its session id tells it. Nothing of it is stored. */
export interface Session {
  /** Unique; names what is kept of the session in a process. */
  readonly key: string;
  /** The session that the upstream opened; absent for an upstream that keeps none. */
  readonly upstreamId?: string;
  /** The caller's `initialize` request as JSON text, for an upstream process that must be started anew. */
  readonly initialize?: string;
  /** The client declared capabilities, so that the upstream may list other tools to it. */
  readonly hasOwnTools: boolean;
  /**
   * What is asked in the session goes to the upstream in a session of the service's own: it speaks the modern era only, or it is a
   * program and the caller has no credential.
   */
  readonly isTranslated?: true;
  readonly revision: number;
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
}

const MAX_AGE_MS = 24 * 60 * 60_000;
/** Longer ones were not made here. */
const MAX_LENGTH = 8 * 1024;

/**
 * Turns sessions into session ids and back (MCP 2025-11-25, "Session Management"). An id is the encrypted session, so any
 * process can open it; it opens only for the principal, organization and connection that it was made for, and only until
 * the connection is edited, because the upstream's session was opened with the old credentials.
 */
@Injectable()
export class SealedSessions {
  constructor(private readonly vault: VaultService) {}

  seal(
    session: Pick<Session, 'upstreamId' | 'initialize' | 'hasOwnTools' | 'isTranslated'> & { key?: string },
    connection: Connection,
    caller: Principal | undefined,
  ): string {
    const complete: Session = { key: newId(), ...session, revision: connection.revision, openedAt: Date.now() };
    // An envelope is visible ASCII, as a session id must be.
    return this.vault.seal(JSON.stringify(complete), contextOf(connection, caller));
  }

  /** @throws DomainError `session_not_found`, which makes an MCP client open a new session */
  open(id: string, connection: Connection, caller: Principal | undefined): Session {
    if (id.length > MAX_LENGTH) throw unknownSession();
    let session: Session;
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      session = JSON.parse(this.vault.open(id, contextOf(connection, caller))) as Session;
    } catch {
      throw unknownSession();
    }
    const isOver = session.revision !== connection.revision || Date.now() - session.openedAt > MAX_AGE_MS;
    if (isOver) throw unknownSession();
    return session;
  }
}

function contextOf({ id, organizationId }: Connection, caller: Principal | undefined): string {
  const principal = caller === undefined ? 'anonymous' : `${caller.kind}:${caller.userId}:${caller.apiKeyId}`;
  return `mcp-session:${organizationId}:${id}:${principal}`;
}

export function unknownSession(): DomainError {
  return new DomainError(
    'session_not_found',
    'The session is not known, or over: send `initialize` to open a new one.',
  );
}
