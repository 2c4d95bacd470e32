import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../../database/prepared-statements.js';
import type { NextRun } from './run-finish.js';

/** Organizations and holders whose runs are passed over. */
export interface PassedOver {
  readonly organizations: readonly string[];
  readonly holders: readonly string[];
}

/** Whose share of the run slots a run counts against: its organization, and in it the API key, or the user where there is none. */
export interface Tenant {
  readonly organizationId: string;
  readonly holderId: string;
}

export const NOBODY_PASSED_OVER: PassedOver = { organizations: [], holders: [] };

/** The holder of a row of `runs`. */
export const HOLDER = 'coalesce(api_key_id, user_id)';

/** The first waiting run of a thread, as `runs_turn_idx` holds it. */
const IS_HEAD = "status = 'queued' AND turn_at IS NOT NULL";
const TENANT = 'organization_id, api_key_id, user_id';
const SMALLEST_ID = "'00000000-0000-0000-0000-000000000000'";

// Steps through the index from tenant to tenant, in its order, in which runs without a key come last in their organization: what
// one of them has waiting is not read, however much that is.
const WAITING_TENANTS = `
  tenants AS (
    (SELECT ${TENANT} FROM runs WHERE ${IS_HEAD} ORDER BY ${TENANT} LIMIT 1)
    UNION ALL
    SELECT next.organization_id, next.api_key_id, next.user_id FROM tenants last CROSS JOIN LATERAL (
      (SELECT 1 AS rank, ${TENANT} FROM runs WHERE ${IS_HEAD}
          AND organization_id = last.organization_id AND api_key_id = last.api_key_id AND user_id > last.user_id ORDER BY user_id LIMIT 1)
      UNION ALL
      (SELECT 2, ${TENANT} FROM runs WHERE ${IS_HEAD}
          AND organization_id = last.organization_id AND api_key_id > last.api_key_id ORDER BY api_key_id, user_id LIMIT 1)
      UNION ALL
      (SELECT 3, ${TENANT} FROM runs WHERE ${IS_HEAD} AND organization_id = last.organization_id AND api_key_id IS NULL
          AND user_id > CASE WHEN last.api_key_id IS NULL THEN last.user_id ELSE ${SMALLEST_ID} END ORDER BY user_id LIMIT 1)
      UNION ALL
      (SELECT 4, ${TENANT} FROM runs WHERE ${IS_HEAD} AND organization_id > last.organization_id ORDER BY ${TENANT} LIMIT 1)
      ORDER BY rank LIMIT 1
    ) next
  )`;

const FIRST_OF_TENANT = `SELECT id, attempt, turn_at, position FROM runs WHERE ${IS_HEAD}
            AND organization_id = tenants.organization_id AND user_id = tenants.user_id`;

// What runs, by tenant; and the first waiting run of each tenant, of those that are the first of their thread.
const SHARES = `
  RECURSIVE busy AS (
    SELECT organization_id, ${HOLDER} AS holder, count(*) AS runs FROM runs WHERE status = 'running' GROUP BY 1, 2
  ), ${WAITING_TENANTS}, heads AS (
    SELECT head.id, head.attempt, organization_id, ${HOLDER} AS holder, head.turn_at
      FROM tenants CROSS JOIN LATERAL (
        (${FIRST_OF_TENANT} AND api_key_id = tenants.api_key_id ORDER BY position LIMIT 1)
        UNION ALL
        (${FIRST_OF_TENANT} AND api_key_id IS NULL AND tenants.api_key_id IS NULL ORDER BY position LIMIT 1)
      ) head
  ), waiting AS (
    SELECT heads.*,
           coalesce((SELECT sum(runs) FROM busy WHERE busy.organization_id = heads.organization_id), 0) AS organization_runs,
           coalesce((SELECT runs FROM busy WHERE busy.organization_id = heads.organization_id AND busy.holder = heads.holder), 0)
             AS holder_runs
      FROM heads
  )`;

// Of tenants that run equally much one is drawn by lot, so that a long queue is no advantage.
const NEXT = {
  name: 'run_turn_next',
  text: `
    WITH ${SHARES}, fairest AS (
      SELECT id, attempt FROM waiting WHERE NOT organization_id = ANY($1::uuid[]) AND NOT holder = ANY($2::uuid[])
       ORDER BY organization_runs, hashtextextended(organization_id::text, $3), holder_runs, random() LIMIT 1
    ), lost AS (
      SELECT id, attempt FROM runs WHERE status = 'running' AND heartbeat_at < now() - make_interval(secs => $4::float8 / 1000)
       ORDER BY position LIMIT 1
    )
    SELECT id AS "runId", attempt + 1 AS attempt FROM (SELECT 1, * FROM lost UNION ALL SELECT 2, * FROM fairest) AS found (rank)
     ORDER BY rank LIMIT 1`,
};

/** So long somebody without any slot waits until those with one give it up by turns. */
const PATIENCE = '2 seconds';

// Moving a slot has to bring the two nearer to each other: a run does not yield to somebody who would then have as much as it had.
// Where somebody has nothing at all for a while, the last slot goes from one to the other by turns.
const IS_OWED = {
  name: 'run_turn_is_owed',
  text: `
    WITH ${SHARES}, own AS (
      SELECT coalesce(sum(runs), 0) AS organization_runs, coalesce(sum(runs) FILTER (WHERE holder = $2), 0) AS holder_runs
        FROM busy WHERE organization_id = $1
    )
    SELECT EXISTS (
      SELECT FROM waiting, own
       WHERE turn_at < now() - make_interval(secs => $3::float8 / 1000)
         AND CASE WHEN organization_id = $1
                  THEN holder <> $2 AND (waiting.holder_runs + 1 < own.holder_runs OR (waiting.holder_runs = 0 AND turn_at < now() - interval '${PATIENCE}'))
                  ELSE waiting.organization_runs + 1 < own.organization_runs OR (waiting.organization_runs = 0 AND turn_at < now() - interval '${PATIENCE}') END
    ) AS owed`,
};

/** Decides whose run is next when more wait than there are slots. Shares are counted over all workers. */
@Injectable()
export class RunTurns {
  constructor(private readonly statements: PreparedStatements) {}

  /**
   * The attempt that should be claimed next: at a run whose worker has been silent for `silentMs`, else at the first run of whoever
   * has the least running.
   */
  async findNext({ organizations, holders }: PassedOver, silentMs: number): Promise<NextRun | undefined> {
    const seed = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    const [next] = await this.statements.rows<NextRun>(NEXT, [organizations, holders, seed, silentMs]);
    return next;
  }

  /** Has somebody been waiting for `waitedMs` who has less than their share, while this tenant has more than its own? */
  async isOwedBy({ organizationId, holderId }: Tenant, waitedMs: number): Promise<boolean> {
    const [row] = await this.statements.rows<{ owed: boolean }>(IS_OWED, [organizationId, holderId, waitedMs]);
    return row?.owed === true;
  }
}
