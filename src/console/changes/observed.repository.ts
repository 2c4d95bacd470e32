import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Observed } from './change.js';

/** How many rows one look reads at most of an organization. */
export const MAX_OBSERVED = 10_000;

/** A run is visible only when its transaction has ended, after its `created_at`. */
const COMMITTED_WITHIN = `interval '5 seconds'`;

/**
 * A run in progress counts as changed with each step, and while a long step is stored at most this often, in seconds.
 */
const PROGRESS_EVERY_S = 4;
/** Of a webhook with many pending deliveries, only those that are due first are observed. */
const OBSERVED_DELIVERIES = 20;

const RUN = `r.id, r.thread_id AS "threadId", r.status,
  concat_ws(' ', r.status, r.attempt, r.step, floor(extract(epoch FROM r.updated_at) / ${PROGRESS_EVERY_S})) AS
    revision`;

// Connections are many and change rarely, so they are read only where this text differs. An update that is committed
// late changes the sum, and would not change the latest time.
const CONNECTIONS_STATE = `(
  SELECT concat_ws(' ', count(*), count(*) FILTER (WHERE c.status = 'active'),
                   count(*) FILTER (WHERE c.status = 'error'), sum(extract(epoch FROM c.updated_at)))
    FROM connections c WHERE c.organization_id = o.id)`;

const STATES = `
  SELECT now(), (SELECT json_object_agg(o.id, ${CONNECTIONS_STATE}) FROM unnest($1::uuid[]) AS o (id)) AS connections`;

// Each part is served by an index: the open runs, the newest runs and threads, single runs, and pending deliveries.
// They cost nothing to keep, because they are there for other reasons. No organization has more than `MAX_OBSERVED + 1`
// rows read of any part.
const MOST = `LIMIT ${MAX_OBSERVED + 1}`;
const OBSERVED = `
  SELECT o.id AS "organizationId", each.* FROM unnest($1::uuid[]) AS o (id), LATERAL (
    WITH recent_runs AS (
      (SELECT ${RUN} FROM runs r WHERE r.organization_id = o.id
        AND r.status IN ('queued', 'running', 'waiting') ${MOST})
      UNION
      (SELECT ${RUN} FROM runs r WHERE r.organization_id = o.id
        AND r.created_at > $2::timestamptz - ${COMMITTED_WITHIN} ${MOST})
      UNION
      SELECT ${RUN} FROM runs r WHERE r.id = ANY($3) AND r.organization_id = o.id
    ), recent_threads AS (
      (SELECT t.id, t.status FROM threads t
        WHERE t.organization_id = o.id AND t.created_at > $2::timestamptz - ${COMMITTED_WITHIN} ${MOST})
      UNION
      SELECT t.id, t.status FROM recent_runs r JOIN threads t ON t.organization_id = o.id AND t.id = r."threadId"
    )
    SELECT 'run' AS type, id::text, "threadId", status, revision FROM recent_runs
    UNION ALL
    SELECT 'thread', id, NULL, status, status FROM recent_threads
    UNION ALL
    SELECT 'connection', c.id::text, NULL, c.status, c.status || c.updated_at FROM connections c
      WHERE o.id = ANY($4) AND c.organization_id = o.id
    UNION ALL
    SELECT 'schedule', s.id::text, NULL, CASE WHEN s.enabled THEN 'enabled' ELSE 'disabled' END,
           concat_ws(' ', s.enabled, s.updated_at, s.next_run_at, s.last_run_id, s.last_skipped_at)
      FROM schedules s WHERE s.organization_id = o.id
    UNION ALL
    SELECT 'webhook', w.id::text, NULL, CASE WHEN w.enabled THEN 'enabled' ELSE 'disabled' END,
           concat_ws(' ', w.enabled, w.updated_at, (
             SELECT string_agg(concat_ws(' ', d.id, d.attempts), ' ') FROM (
               SELECT id, attempts FROM webhook_deliveries
                WHERE webhook_id = w.id AND status = 'pending' ORDER BY next_try_at LIMIT ${OBSERVED_DELIVERIES}) d))
      FROM webhooks w WHERE w.organization_id = o.id
    UNION ALL
    SELECT 'approval', a.id::text, r."threadId", 'requested', '' FROM recent_runs r
      JOIN run_approvals a ON a.run_id = r.id AND a.closed_at IS NULL WHERE r.status = 'waiting'
    ${MOST}
  ) each`;

/** Reads what can change in organizations. */
@Injectable()
export class ObservedRepository {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** The time of the database, and a text for each organization that differs when one of its connections differs. */
  async states(organizationIds: readonly string[]): Promise<{ now: Date; connections: ReadonlyMap<string, string> }> {
    const [row]: [{ now: Date; connections: Record<string, string> | null }] = await this.database.query(STATES, [
      organizationIds,
    ]);
    return { now: row.now, connections: new Map(Object.entries(row.connections ?? {})) };
  }

  /**
   * The schedules and webhooks, the runs that are not over with their open approvals, the runs and threads since
   * `since`, and the named runs; of the organizations among `withConnections`, also the connections.
   * @returns more than `MAX_OBSERVED` of an organization that has too much to observe
   */
  observe(
    organizationIds: readonly string[],
    since: Date,
    runIds: readonly string[],
    withConnections: readonly string[],
  ): Promise<Observed[]> {
    return this.database.query(OBSERVED, [organizationIds, since, runIds, withConnections]);
  }
}
