import { Injectable } from '@nestjs/common';
import { isUuid } from '../core/ids.js';
import { mapMaybePromise } from '../core/map-maybe-promise.js';
import { ReadThroughCache } from '../core/read-through-cache.js';
import {
  type Connection,
  connectionFor,
  type ConnectionStatus,
  hasMemberAccounts,
  unknownConnection,
} from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import {
  type ConnectionOutline,
  ConnectionRepository,
  type ConnectionWithOrganization,
  type StoredList,
} from './connection.repository.js';
import type { LastKnownTool } from './last-known-tool.js';

/** `connections.status_reason` */
const MAX_REASON_LENGTH = 1000;

/** Edits of other processes must be visible within a second, so a cached connection is valid for a little less. */
const VALID_MS = 900;
const MAX_ENTRIES = 10_000;
/** Limits look-ups by id: unauthenticated callers can request any id. */
const MAX_QUERIES = 2;
const MAX_IDS_PER_QUERY = 500;

/** Looks connections up for other modules, and stores the tools and check results that they report. */
@Injectable()
export class ConnectionDirectory {
  /** Connections by id, as stored: secrets stay sealed. */
  private readonly cache: ReadThroughCache<Connection>;

  constructor(
    private readonly repository: ConnectionRepository,
    changes: ConnectionChanges,
  ) {
    this.cache = new ReadThroughCache((ids) => this.readAll(ids), {
      ttlMs: VALID_MS,
      maxEntries: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_IDS_PER_QUERY,
    });
    changes.onChange((connectionId) => this.cache.forget(connectionId));
  }

  /**
   * The connection as it was within the last second; edits in this process are visible at once. Anything but a UUID
   * finds nothing. Returns a promise only when the connection has to be read.
   */
  findConnection(organizationId: string, id: string): Connection | undefined | Promise<Connection | undefined> {
    return mapMaybePromise(this.findAnywhere(id), (connection) =>
      connection?.organizationId === organizationId ? connection : undefined,
    );
  }

  /** The connection as this person uses it; see `connectionFor`. @throws DomainError `not_found` */
  async requireConnection(organizationId: string, id: string, userId?: string | null): Promise<Connection> {
    const connection = await this.findConnection(organizationId, id);
    if (connection === undefined) throw unknownConnection();
    return connectionFor(connection, userId);
  }

  /** In any organization: for callers without a credential, who never see the result. */
  findAnywhere(id: string): Connection | undefined | Promise<Connection | undefined> {
    if (!isUuid(id)) return undefined;
    // Spelled as in the database: an edit must invalidate the entry for callers who send the id in capitals too.
    return this.cache.get(id.toLowerCase());
  }

  private async readAll(ids: readonly string[]): Promise<Map<string, Connection>> {
    const found = await this.repository.findAllWithOrganization(ids);
    return new Map(found.map((one) => [one.connection.id, toConnection(one)]));
  }

  /** The connections among these that belong to the organization, in no particular order. */
  async findAll(organizationId: string, ids: readonly string[]): Promise<Connection[]> {
    const connections = await this.repository.findAllOfOrganization(organizationId, ids);
    return connections.map(toConnection);
  }

  /** All connections of the organization by title, agents included. */
  findOutlines(organizationId: string): Promise<ConnectionOutline[]> {
    return this.repository.findOutlines(organizationId);
  }

  /**
   * The lists of the first connections by title that last listed a tool with this text in its name.
   * @throws DomainError as `LongReads.read`
   */
  findWithTool(organizationId: string, text: string, limit: number, callerLeft: AbortSignal): Promise<StoredList[]> {
    return this.repository.findWithTool(organizationId, text, limit, callerLeft);
  }

  /** Connection id → last listed tools by name; connections that never listed tools are absent. */
  lastKnownToolNames(ids: readonly string[]): Promise<ReadonlyMap<string, readonly LastKnownTool[]>> {
    return this.repository.findToolNames(ids);
  }

  /** The last listed tools and the time of listing; undefined if they were never listed. */
  async lastKnownTools(connection: Connection): Promise<{ tools: readonly { name: string }[]; at: Date } | undefined> {
    return hasMemberAccounts(connection) ? undefined : this.repository.findTools(connection.id);
  }

  /** True if other organizations have connections that run programs. */
  hasProgramsBeside(organizationId: string): Promise<boolean> {
    return this.repository.existsProgramBeside(organizationId);
  }

  /** Stores the tools that the upstream has just listed, unless they are those of one member's account. */
  async rememberTools(connection: Connection, tools: readonly { name: string }[]): Promise<void> {
    if (hasMemberAccounts(connection)) return;
    await this.repository.saveTools(connection.id, connection.revision, tools);
  }

  /**
   * Records why an active connection cannot be used at the moment, as a sentence for people: its account is not
   * authorized, or its program is starting. Does not change the status.
   */
  recordHindrance({ id, revision }: Connection, reason: string): Promise<void> {
    return this.repository.saveReason(id, revision, reason.slice(0, MAX_REASON_LENGTH));
  }

  /**
   * Call after the account of a connection was authorized or deauthorized: it begins a new revision, because sessions
   * with the upstream belong to the account that opened them.
   */
  accountChanged(connectionId: string): Promise<void> {
    return this.repository.beginRevision(connectionId);
  }

  /** Records a check: `error` is a sentence for people, or undefined when the connection works. */
  recordHealth({ id, revision }: Connection, fault: string | undefined): Promise<void> {
    const status: Exclude<ConnectionStatus, 'inactive'> = fault === undefined ? 'active' : 'error';
    return this.repository.saveHealth(id, revision, status, fault?.slice(0, MAX_REASON_LENGTH) ?? null);
  }
}

function toConnection({ connection, organization }: ConnectionWithOrganization): Connection {
  return {
    id: connection.id,
    organizationId: connection.organizationId,
    organizationSlug: organization.slug,
    type: connection.connectionType,
    title: connection.title,
    status: connection.status,
    url: connection.connectionUrl,
    oauth: connection.oauth,
    stdio: connection.stdio,
    timeoutMs: connection.timeout,
    publicTools: connection.publicTools,
    rateLimit: connection.rateLimit,
    sharedState: connection.sharedState,
    auditContent: organization.auditContent,
    pin: connection.pin,
    pinEpoch: connection.pinEpoch,
    revision: connection.revision,
    sealed: {
      token: connection.connectionToken,
      headers: connection.connectionHeaders,
      stdioEnv: connection.stdioEnv,
      oauthClientSecret: connection.oauthClientSecret,
    },
  };
}
