import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Not, Repository, type SelectQueryBuilder } from 'typeorm';
import { plainJson } from '../core/plain-text.js';
import { changeOrganization, requireRoom } from '../platform/database/organization-locks.js';
import { type ConnectionStatus, type ConnectionType, MAX_CONNECTIONS } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionEntity } from './connection.entity.js';
import { LongReads } from '../platform/database/long-reads.js';
import { isPage, type LastKnownTool } from './last-known-tool.js';

/** The name, and where `_meta` can have the address of a page. */
type StoredTool = readonly [name: string, ...pages: unknown[]];

/** The columns of a new connection that the caller sets; the others have defaults. */
type NewConnection = Pick<ConnectionEntity, 'id' | 'organizationId' | 'connectionType' | 'title'> &
  Partial<Pick<ConnectionEntity, 'importName'>> &
  ConnectionColumns;

/** The columns that an update can write; absent or undefined columns keep their value. */
export type ConnectionColumns = Partial<
  Pick<
    ConnectionEntity,
    | 'title'
    | 'description'
    | 'connectionUrl'
    | 'connectionToken'
    | 'connectionHeaders'
    | 'connectionHeaderNames'
    | 'oauth'
    | 'oauthClientSecret'
    | 'stdio'
    | 'stdioEnv'
    | 'stdioEnvNames'
    | 'timeout'
    | 'status'
    | 'statusReason'
    | 'publicTools'
    | 'rateLimit'
    | 'sharedState'
    | 'pin'
    | 'pinEpoch'
    | 'pinnedAt'
    | 'revision'
  >
>;

export interface ConnectionWithOrganization {
  readonly connection: ConnectionEntity;
  readonly organization: { readonly slug: string; readonly auditContent: boolean };
}

/** What a picture of the organization shows of a connection. */
export interface ConnectionOutline extends Pick<ConnectionEntity, 'id' | 'title' | 'status'> {
  readonly type: ConnectionType;
  /** Null for agents, and for a connection that never listed its tools. */
  readonly toolCount: number | null;
}

/** A stored list of tools. */
export interface StoredList {
  readonly id: string;
  /** In bytes of JSON text. */
  readonly size: number;
}

@Injectable()
export class ConnectionRepository {
  constructor(
    @InjectRepository(ConnectionEntity) private readonly connections: Repository<ConnectionEntity>,
    private readonly changes: ConnectionChanges,
    private readonly reads: LongReads,
  ) {}

  /** @throws DomainError `limit_reached` */
  async insert(connection: NewConnection): Promise<ConnectionEntity> {
    return changeOrganization(this.connections.manager, connection.organizationId, async (manager) => {
      await requireRoom(manager, ConnectionEntity, connection.organizationId, MAX_CONNECTIONS);
      await manager.insert(ConnectionEntity, connection);
      return manager.findOneByOrFail(ConnectionEntity, { id: connection.id });
    });
  }

  /** For `paginate`; the alias is `connection`. */
  queryOfOrganization(organizationId: string): SelectQueryBuilder<ConnectionEntity> {
    return this.connections
      .createQueryBuilder('connection')
      .where('connection.organizationId = :organizationId', { organizationId });
  }

  findOfOrganization(organizationId: string, id: string): Promise<ConnectionEntity | null> {
    return this.connections.findOneBy({ organizationId, id });
  }

  findImported(organizationId: string, importName: string): Promise<ConnectionEntity | null> {
    return this.connections.findOneBy({ organizationId, importName });
  }

  /** The revisions of the connections among these that exist and are not inactive, by id. */
  async findActiveRevisions(ids: readonly string[]): Promise<Map<string, number>> {
    const rows: { id: string; revision: number }[] = await this.connections.query(
      `SELECT id, revision FROM connections WHERE id = ANY($1) AND status <> 'inactive'`,
      [ids],
    );
    return new Map(rows.map(({ id, revision }) => [id, Number(revision)]));
  }

  existsProgramBeside(organizationId: string): Promise<boolean> {
    return this.connections.existsBy({ connectionType: 'STDIO', organizationId: Not(organizationId) });
  }

  async findAllWithOrganization(ids: readonly string[]): Promise<ConnectionWithOrganization[]> {
    const { entities, raw } = await this.connections
      .createQueryBuilder('connection')
      .innerJoin('organizations', 'organization', 'organization.id = connection.organizationId')
      .addSelect('organization.slug', 'slug')
      .addSelect('organization.audit_content', 'audit_content')
      .where({ id: In(ids) })
      .getRawAndEntities<{ slug: string; audit_content: boolean }>();
    return entities.map((connection, index) => {
      const { slug = '', audit_content: auditContent = false } = raw[index] ?? {};
      return { connection, organization: { slug, auditContent } };
    });
  }

  async findAllOfOrganization(organizationId: string, ids: readonly string[]): Promise<ConnectionWithOrganization[]> {
    const found = await this.findAllWithOrganization(ids);
    return found.filter(({ connection }) => connection.organizationId === organizationId);
  }

  /**
   * Writes the columns that `decide` derives from the stored connection. The row is locked meanwhile, so that
   * concurrent updates do not overwrite each other. If `decide` throws, the connection does not change.
   */
  async updateOfOrganization(
    organizationId: string,
    id: string,
    decide: (stored: ConnectionEntity) => ConnectionColumns,
  ): Promise<ConnectionEntity | null> {
    const updated = await changeOrganization(this.connections.manager, organizationId, async (manager) => {
      const lock = { mode: 'for_no_key_update' } as const;
      const stored = await manager.findOne(ConnectionEntity, { where: { organizationId, id }, lock });
      if (stored === null) return null;
      const columns = decide(stored);
      if (Object.values(columns).every((value) => value === undefined)) return stored;
      await manager.update(ConnectionEntity, { id }, columns);
      return manager.findOneByOrFail(ConnectionEntity, { id });
    });
    this.changes.changed(id);
    return updated;
  }

  /** All connections of the organization by title, agents included, with the number of tools that each last listed. */
  findOutlines(organizationId: string): Promise<ConnectionOutline[]> {
    return this.connections.query(
      `SELECT id, title, connection_type AS type, status, tool_count AS "toolCount"
         FROM connections WHERE organization_id = $1 ORDER BY title, id`,
      [organizationId],
    );
  }

  /**
   * The lists of the first connections by title that last listed a tool with this text in its name, in upper or lower
   * case. Unpacks all lists of the organization.
   * @throws DomainError as `LongReads.read`
   */
  findWithTool(organizationId: string, text: string, limit: number, callerLeft: AbortSignal): Promise<StoredList[]> {
    return this.reads.read(organizationId, callerLeft, (manager) =>
      manager.query<StoredList[]>(
        `SELECT id, octet_length(tools::text) AS size
           FROM (SELECT id, title, tools FROM connections
                  WHERE organization_id = $1 AND tools IS NOT NULL
                    AND EXISTS (SELECT FROM json_to_recordset(tools) AS tool(name text)
                                 WHERE position(lower($2) IN lower(name)) > 0)
                  ORDER BY title, id LIMIT $3) AS found
          ORDER BY title, id`,
        [organizationId, text, limit],
      ),
    );
  }

  /** Deletes the connection. Foreign keys remove it from agents, and delete the agent of a VIRTUAL connection. */
  async deleteOfOrganization(organizationId: string, id: string): Promise<boolean> {
    const result = await this.connections.delete({ organizationId, id });
    this.changes.changed(id);
    return result.affected === 1;
  }

  async findTools(id: string): Promise<{ tools: { name: string }[]; at: Date } | undefined> {
    const row = await this.connections.findOne({
      select: { id: true, tools: true, toolsRefreshedAt: true },
      where: { id },
    });
    if (row?.tools == null || row.toolsRefreshedAt === null) return undefined;
    return { tools: row.tools, at: row.toolsRefreshedAt };
  }

  /**
   * The last listed tools of each of these connections, by name; connections that never listed tools are absent. Where
   * a connection blocks tools, only those whose definition is approved.
   */
  async findToolNames(ids: readonly string[]): Promise<Map<string, LastKnownTool[]>> {
    const rows: { id: string; listed: StoredTool[] | null; has_block: boolean; approved: string[] | null }[] =
      await this.connections.query(
        `SELECT id, (SELECT json_agg(json_build_array(name, _meta->'ui'->'resourceUri', _meta->'ui/resourceUri'))
                       FROM json_to_recordset(tools) AS tool(name json, _meta json)) AS listed,
                pin = 'block' AS has_block,
                CASE WHEN pin = 'block' AND pinned_at IS NOT NULL THEN (
                  SELECT json_agg(tool_name::json)
                    FROM (SELECT tool_name FROM pinned_tools
                           WHERE connection_id = id
                           GROUP BY tool_name
                          HAVING bool_or(approved_at IS NOT NULL)
                             AND bool_and(approved_at IS NOT NULL OR NOT is_listed)) AS usable) END AS approved
           FROM connections
          WHERE id = ANY($1) AND tools IS NOT NULL`,
        [ids],
      );
    return new Map(
      rows.map(({ id, listed, has_block: hasBlock, approved }) => {
        const usable = new Set(approved);
        const kept = (listed ?? []).filter(([name]) => !hasBlock || usable.has(name));
        return [id, kept.map(([name, ...pages]) => ({ name, pages: pages.filter(isPage) }))];
      }),
    );
  }

  /**
   * Stores a list of tools, unless the connection was edited since. An unchanged list that was stored within the last
   * minute is not written again. In names and texts, U+FFFD replaces what PostgreSQL cannot decode when it reads a
   * member of the list.
   */
  async saveTools(id: string, revision: number, tools: readonly { name: string }[]): Promise<void> {
    await this.connections.query(
      `UPDATE connections SET tools = $3::text::json, tools_refreshed_at = now()
        WHERE id = $1 AND revision = $2
          AND (tools IS NULL OR tools::text <> $3 OR tools_refreshed_at < now() - interval '1 minute')`,
      [id, revision, plainJson(JSON.stringify(tools))],
    );
  }

  /** Stores the result of a check, unless the connection was edited since. An inactive connection stays inactive. */
  async saveHealth(
    id: string,
    revision: number,
    status: Exclude<ConnectionStatus, 'inactive'>,
    reason: string | null,
  ): Promise<void> {
    await this.connections.query(
      `UPDATE connections SET status = $3::text, status_reason = $4::text, updated_at = now()
        WHERE id = $1 AND revision = $2 AND status <> 'inactive'
          AND (status, status_reason) IS DISTINCT FROM ($3::text, $4::text)`,
      [id, revision, status, reason],
    );
    this.changes.changed(id);
  }

  /** Stores a reason without changing the status, unless the connection was edited since or its last check failed. */
  async saveReason(id: string, revision: number, reason: string): Promise<void> {
    const [, count]: [unknown, number] = await this.connections.query(
      `UPDATE connections SET status_reason = $3::text, updated_at = now()
        WHERE id = $1 AND revision = $2 AND status = 'active' AND status_reason IS DISTINCT FROM $3::text`,
      [id, revision, reason],
    );
    if (count > 0) this.changes.changed(id);
  }

  /** Ends the sessions that were opened at the upstream until now, in all processes. */
  async beginRevision(id: string): Promise<void> {
    await this.connections.query(
      `UPDATE connections
          SET revision = revision + 1, status_reason = CASE WHEN status = 'active' THEN NULL ELSE status_reason END,
              updated_at = now()
        WHERE id = $1`,
      [id],
    );
    this.changes.changed(id);
  }
}
