import { Injectable } from '@nestjs/common';
import { isUuid } from '../common/ids.js';
import { mapMaybePromise } from '../common/map-maybe-promise.js';
import { ReadThroughCache } from '../common/read-through-cache.js';
import type { Connection, ConnectionStatus } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionRepository, type ConnectionWithOrganization } from './connection.repository.js';

/** `connections.status_reason` */
const MAX_REASON_LENGTH = 1000;

/** An edit in another process is seen within a second, so a connection is believed for a little less. */
const BELIEVED_MS = 900;
const MAX_ENTRIES = 10_000;
/** Of look-ups by id, whoever asks: callers without a credential may ask for any. */
const MAX_QUERIES = 2;
const MAX_IDS_PER_QUERY = 500;

/** Where other modules look connections up, and leave what they learned of them. */
@Injectable()
export class ConnectionDirectory {
  /** By id, as they are stored: secrets stay sealed. */
  private readonly cache: ReadThroughCache<Connection>;

  constructor(
    private readonly repository: ConnectionRepository,
    changes: ConnectionChanges,
  ) {
    this.cache = new ReadThroughCache((ids) => this.readAll(ids), {
      ttlMs: BELIEVED_MS,
      maxEntries: MAX_ENTRIES,
      maxQueries: MAX_QUERIES,
      maxKeysPerQuery: MAX_IDS_PER_QUERY,
    });
    changes.onChange((connectionId) => this.cache.forget(connectionId));
  }

  /**
   * As it was within the last second; an edit in this process is seen at once. Anything but a UUID finds nothing. A promise
   * only when the connection has to be read.
   */
  find(organizationId: string, id: string): Connection | undefined | Promise<Connection | undefined> {
    return mapMaybePromise(this.findAnywhere(id), (connection) =>
      connection?.organizationId === organizationId ? connection : undefined,
    );
  }

  /** Whatever its organization: for callers without a credential, who are told nothing of what is found. */
  findAnywhere(id: string): Connection | undefined | Promise<Connection | undefined> {
    if (!isUuid(id)) return undefined;
    // As the database spells it: an edit has to be seen by those, too, who write it in capitals.
    return this.cache.get(id.toLowerCase());
  }

  private async readAll(ids: readonly string[]): Promise<Map<string, Connection>> {
    const found = await this.repository.findAllWithOrganization(ids);
    return new Map(found.map((one) => [one.connection.id, toConnection(one)]));
  }

  /** Those of the connections that are in the organization, in no particular order. */
  async findAll(organizationId: string, ids: readonly string[]): Promise<Connection[]> {
    const connections = await this.repository.findAllOfOrganization(organizationId, ids);
    return connections.map(toConnection);
  }

  /** Connection id → names of the tools as last listed; connections that never listed any are absent. */
  lastKnownToolNames(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.repository.findToolNames(ids);
  }

  /** The tools as they were last listed, and when; undefined when they never were. */
  lastKnownTools({ id }: Connection): Promise<{ tools: readonly { name: string }[]; at: Date } | undefined> {
    return this.repository.findTools(id);
  }

  /** Have other organizations than this one connections that run programs? */
  hasProgramsBeside(organizationId: string): Promise<boolean> {
    return this.repository.existsProgramBeside(organizationId);
  }

  /** Keeps the tools that the upstream has just listed. */
  rememberTools({ id, revision }: Connection, tools: readonly { name: string }[]): Promise<void> {
    return this.repository.saveTools(id, revision, tools);
  }

  /** Records a check: `error` with a sentence for people, or none when the connection works. */
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
    stdio: connection.stdio,
    timeoutMs: connection.timeout,
    publicTools: connection.publicTools,
    auditContent: organization.auditContent,
    revision: connection.revision,
    sealed: { token: connection.connectionToken, headers: connection.connectionHeaders, stdioEnv: connection.stdioEnv },
  };
}
