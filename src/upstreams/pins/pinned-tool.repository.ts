import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { Connection, PinRule } from '../../connections/connection.js';
import { TimeSlices } from '../../core/time-slices.js';
import { deleteFound } from '../../platform/database/delete-batch.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { type KnownForm, PinState, fingerprintOf, namelessFingerprintOf } from './pin-state.js';
import { PinnedToolEntity } from './pinned-tool.entity.js';

/**
 * Of the definitions of a connection that are approved, and of the others, as stored. Each is more than one list can
 * have, so that no upstream fills the table with lists that always differ. The oldest are deleted.
 */
const MAX_STORED_BYTES = 64 * 1024 * 1024;
/** What a row takes in addition to its definition and its name. */
const ROW_BYTES = 1024;
/** Every process keeps the names of listed definitions that are not approved. One list has no more. */
const MAX_LISTED = 10_000;

/** Those that keep another definition of their name from being called come last. */
const OLDEST = `
  SELECT ctid FROM (
    SELECT ctid, is_pending, sum(size + $2::integer) OVER kept AS total,
           count(*) FILTER (WHERE is_pending) OVER kept AS pending
      FROM (
        SELECT ctid, fingerprint, size, approved_at, listed_at, approved_at IS NULL AND is_listed AS is_pending,
               bool_or(approved_at IS NOT NULL) OVER (PARTITION BY tool_name COLLATE "C") AS is_known
          FROM pinned_tools WHERE connection_id = $1) AS stored
    WINDOW kept AS (
      PARTITION BY approved_at IS NULL
      ORDER BY is_pending AND is_known DESC, coalesce(approved_at, listed_at) DESC, fingerprint)) AS ranked
   WHERE total > $3::bigint OR is_pending AND pending > $4`;

type PinnedConnection = Pick<Connection, 'id' | 'organizationId'>;

/** Approved definitions, to compare with. */
interface ApprovedForms {
  readonly byName: Map<string, UpstreamTool>;
  readonly byNameless: Map<string, UpstreamTool>;
}

/** Stores the definitions that pinned connections list. Writes lock the connection, so that they follow each other. */
@Injectable()
export class PinnedToolRepository {
  constructor(@InjectRepository(PinnedToolEntity) private readonly forms: Repository<PinnedToolEntity>) {}

  /** Undefined once the connection is deleted. */
  async findState(connectionId: string): Promise<PinState | undefined> {
    const rows: { epoch: number; has_begun: boolean; fingerprint: string | null; name: string; approved: boolean }[] =
      await this.forms.query(
        `SELECT pin_epoch AS epoch, pinned_at IS NOT NULL AS has_begun, fingerprint, tool_name AS name,
                approved_at IS NOT NULL AS approved
           FROM connections
           LEFT JOIN pinned_tools ON connection_id = id AND (approved_at IS NOT NULL OR is_listed)
          WHERE id = $1`,
        [connectionId],
      );
    const [first] = rows;
    if (first === undefined) return undefined;
    const forms = rows.flatMap(({ fingerprint, name, approved }): KnownForm[] =>
      fingerprint === null ? [] : [{ fingerprint, name: JSON.parse(name) as string, isApproved: approved }],
    );
    return new PinState(first.epoch, first.has_begun, forms);
  }

  /**
   * Records tools of a list that was just read: those that are not approved, and those that are approved again. The
   * first complete list of a pin is approved. The trigger `pinned_tools_webhooks` reports new definitions.
   * @param names of the tools that may have to be recorded
   * @param isComplete true if the list has all tools of the upstream
   */
  async recordList(
    connection: PinnedConnection,
    tools: readonly UpstreamTool[],
    names: ReadonlySet<string>,
    isComplete: boolean,
  ): Promise<void> {
    await this.locked(connection, async (manager, { hasBegun }) => {
      if (!hasBegun) return isComplete && this.begin(manager, connection, tools);
      const named = tools.filter(({ name }) => names.has(name));
      const added = await this.insert(manager, connection, named, false);
      const returned = await this.list(manager, connection, named);
      const left = await this.unlist(manager, connection, named);
      if (added > 0) await this.prune(manager, connection);
      return added + returned + left > 0;
    });
  }

  /** Approves these definitions. @returns false if the connection is not pinned */
  async approve(connection: PinnedConnection, tools: readonly UpstreamTool[]): Promise<boolean> {
    return this.locked(connection, async (manager) => {
      await this.insert(manager, connection, tools, true);
      await manager.query(
        `UPDATE pinned_tools SET approved_at = now()
          WHERE connection_id = $1 AND fingerprint = ANY($2) AND approved_at IS NULL`,
        [connection.id, fingerprintsOf(tools)],
      );
      await this.unlist(manager, connection, tools);
      await this.prune(manager, connection);
      return true;
    });
  }

  /** The definition that was approved last of each of these names, and of each of these nameless fingerprints. */
  async findApproved(
    connectionId: string,
    names: readonly string[],
    nameless: readonly string[],
  ): Promise<ApprovedForms> {
    const rows: { definition: UpstreamTool; nameless: string | null }[] = await this.forms.query(
      `(SELECT DISTINCT ON (tool_name) definition, NULL AS nameless
          FROM pinned_tools
         WHERE connection_id = $1 AND approved_at IS NOT NULL AND tool_name = ANY($2)
         ORDER BY tool_name, approved_at DESC, listed_at DESC)
       UNION ALL
       (SELECT DISTINCT ON (nameless_fingerprint) definition, nameless_fingerprint
          FROM pinned_tools
         WHERE connection_id = $1 AND approved_at IS NOT NULL AND nameless_fingerprint = ANY($3)
         ORDER BY nameless_fingerprint, approved_at DESC, listed_at DESC)`,
      [connectionId, names.map((name) => JSON.stringify(name)), nameless],
    );
    const forms: ApprovedForms = { byName: new Map(), byNameless: new Map() };
    for (const { definition, nameless } of rows) {
      if (nameless === null) forms.byName.set(definition.name, definition);
      else forms.byNameless.set(nameless, definition);
    }
    return forms;
  }

  /**
   * Does the work while the connection is locked, and begins a new epoch if it returns true.
   * @returns false also if the connection is not pinned
   */
  private locked(
    { id }: PinnedConnection,
    work: (manager: EntityManager, pin: { hasBegun: boolean }) => Promise<boolean>,
  ): Promise<boolean> {
    return this.forms.manager.transaction(async (manager) => {
      const [row]: { pin: PinRule; has_begun: boolean }[] = await manager.query(
        'SELECT pin, pinned_at IS NOT NULL AS has_begun FROM connections WHERE id = $1 FOR NO KEY UPDATE',
        [id],
      );
      if (row === undefined || row.pin === 'off') return false;
      const hasChanged = await work(manager, { hasBegun: row.has_begun });
      if (hasChanged) await manager.query('UPDATE connections SET pin_epoch = pin_epoch + 1 WHERE id = $1', [id]);
      return hasChanged;
    });
  }

  private async begin(
    manager: EntityManager,
    connection: PinnedConnection,
    tools: readonly UpstreamTool[],
  ): Promise<boolean> {
    // Of a time when the connection was pinned before.
    await manager.query('DELETE FROM pinned_tools WHERE connection_id = $1', [connection.id]);
    await this.insert(manager, connection, tools, true);
    await manager.query('UPDATE connections SET pinned_at = now() WHERE id = $1', [connection.id]);
    return true;
  }

  /** @returns how many definitions were not known */
  private async insert(
    manager: EntityManager,
    { id, organizationId }: PinnedConnection,
    tools: readonly UpstreamTool[],
    isApproved: boolean,
  ): Promise<number> {
    const added: unknown[] = await manager.query(
      `INSERT INTO pinned_tools (organization_id, connection_id, fingerprint, nameless_fingerprint, tool_name,
                                 definition, size, is_listed, approved_at)
         SELECT $1, $2, fingerprint, nameless, name, definition::json, octet_length(definition) + octet_length(name),
                true, CASE WHEN $7 THEN now() END
           FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]) AS listed (fingerprint, nameless, name, definition)
       ON CONFLICT (connection_id, fingerprint) DO NOTHING
       RETURNING 1`,
      [
        organizationId,
        id,
        fingerprintsOf(tools),
        await namelessFingerprintsOf(tools, new TimeSlices(organizationId)),
        namesOf(tools),
        tools.map((tool) => JSON.stringify(tool)),
        isApproved,
      ],
    );
    return added.length;
  }

  /** @returns how many definitions that are not approved are listed again */
  private async list(
    manager: EntityManager,
    { id }: PinnedConnection,
    tools: readonly UpstreamTool[],
  ): Promise<number> {
    const [, count]: [unknown, number] = await manager.query(
      `UPDATE pinned_tools SET is_listed = true, listed_at = now()
        WHERE connection_id = $1 AND fingerprint = ANY($2) AND approved_at IS NULL AND NOT is_listed`,
      [id, fingerprintsOf(tools)],
    );
    return count;
  }

  /** @returns how many definitions that are not approved have given way to others of the same name */
  private async unlist(
    manager: EntityManager,
    { id }: PinnedConnection,
    tools: readonly UpstreamTool[],
  ): Promise<number> {
    const [, count]: [unknown, number] = await manager.query(
      `UPDATE pinned_tools SET is_listed = false
        WHERE connection_id = $1 AND tool_name = ANY($2) AND fingerprint <> ALL($3)
          AND approved_at IS NULL AND is_listed`,
      [id, namesOf(tools), fingerprintsOf(tools)],
    );
    return count;
  }

  /** Deletes the oldest. */
  private async prune(manager: EntityManager, { id }: PinnedConnection): Promise<void> {
    await deleteFound(manager, 'pinned_tools', OLDEST, [id, ROW_BYTES, MAX_STORED_BYTES, MAX_LISTED]);
  }
}

function fingerprintsOf(tools: readonly UpstreamTool[]): string[] {
  return tools.map((tool) => fingerprintOf(tool));
}

async function namelessFingerprintsOf(tools: readonly UpstreamTool[], slices: TimeSlices): Promise<string[]> {
  const fingerprints: string[] = [];
  for (const tool of tools) {
    fingerprints.push(namelessFingerprintOf(tool));
    if (slices.isOver) await slices.next();
  }
  return fingerprints;
}

function namesOf(tools: readonly UpstreamTool[]): string[] {
  return tools.map(({ name }) => JSON.stringify(name));
}
