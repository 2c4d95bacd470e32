import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../core/config/app-config.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import type { NextRun } from './run-finish.js';

/** Organizations and holders whose runs are excluded. */
export interface PassedOver {
  readonly organizations: readonly string[];
  readonly holders: readonly string[];
}

/**
 * Whose share of the run slots a run uses: its organization and, within it, the API key, or the user if there is no
 * key.
 */
export interface Tenant {
  readonly organizationId: string;
  readonly holderId: string;
}

export const NONE_PASSED_OVER: PassedOver = { organizations: [], holders: [] };

/** The first waiting run of a thread, as `runs_turn_idx` holds it. */
const IS_HEAD = "status = 'queued' AND turn_at IS NOT NULL";
const TENANT = 'organization_id, holder_id';

// Steps through the index from tenant to tenant. It reads no more of one tenant's queue, however long the queue is.
const WAITING_TENANTS = `
  tenants AS (
    (SELECT ${TENANT} FROM runs WHERE ${IS_HEAD} ORDER BY ${TENANT} LIMIT 1)
    UNION ALL
    SELECT next.* FROM tenants last CROSS JOIN LATERAL (
      SELECT ${TENANT} FROM runs WHERE ${IS_HEAD}
         AND (organization_id, holder_id) > (last.organization_id, last.holder_id) ORDER BY ${TENANT} LIMIT 1
    ) next
  )`;

// The number of running runs by tenant, and the first queued run of each tenant among the heads of their threads.
// Leaves out organizations that have reached their limit of concurrent runs. @param cap the parameter with the
// operator's cap
const shares = (cap: string): string => `
  RECURSIVE busy AS (
    SELECT organization_id, holder_id AS holder, count(*) AS runs FROM runs WHERE status = 'running' GROUP BY 1, 2
  ), ${WAITING_TENANTS}, heads AS (
    SELECT head.id, head.attempt, organization_id, holder_id AS holder, head.turn_at
      FROM tenants CROSS JOIN LATERAL (
        SELECT id, attempt, turn_at FROM runs WHERE ${IS_HEAD}
           AND organization_id = tenants.organization_id AND holder_id = tenants.holder_id ORDER BY position LIMIT 1
      ) head
  ), counted AS (
    SELECT heads.*,
           coalesce((SELECT sum(runs) FROM busy WHERE busy.organization_id = heads.organization_id), 0) AS organization_runs,
           coalesce((SELECT runs FROM busy WHERE busy.organization_id = heads.organization_id AND busy.holder = heads.holder), 0)
             AS holder_runs
      FROM heads
  ), waiting AS (
    SELECT * FROM counted WHERE organization_runs < coalesce(run_concurrency_limit(organization_id, ${cap}), 'infinity'::float8)
  )`;

// Chooses at random among tenants with equally many running runs, so that a long queue is no advantage.
const NEXT = {
  name: 'run_turn_next',
  text: `
    WITH ${shares('$5::integer')}, fairest AS (
      SELECT id, attempt FROM waiting WHERE NOT organization_id = ANY($1::uuid[]) AND NOT holder = ANY($2::uuid[])
       ORDER BY organization_runs, hashtextextended(organization_id::text, $3), holder_runs, random() LIMIT 1
    ), lost AS (
      SELECT id, attempt FROM runs WHERE status = 'running' AND heartbeat_at < now() - make_interval(secs => $4::float8 / 1000)
       ORDER BY position LIMIT 1
    )
    SELECT id AS "runId", attempt + 1 AS attempt FROM (SELECT 1, * FROM lost UNION ALL SELECT 2, * FROM fairest) AS found (rank)
     ORDER BY rank LIMIT 1`,
};

/** How long a holder without a slot waits until holders with one slot yield it in turns. */
const PATIENCE = '2 seconds';

// Moving a slot must bring the two holders closer to each other: a run does not yield if the other holder would then
// have as many slots as it had. If a holder has had no slot for a while, the last slot rotates.
const IS_OWED = {
  name: 'run_turn_is_owed',
  text: `
    WITH ${shares('$4::integer')}, own AS (
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

/** Chooses the next run when more runs are queued than there are slots. Shares are counted over all workers. */
@Injectable()
export class RunTurns {
  private readonly cap: number | null;

  constructor(
    private readonly statements: PreparedStatements,
    config: AppConfig,
  ) {
    this.cap = config.settings.organizationCaps.concurrent_runs ?? null;
  }

  /**
   * The next attempt to claim: at a run whose worker has been silent for `silentMs`, otherwise at the first run of the
   * tenant with the fewest running runs.
   */
  async findNext({ organizations, holders }: PassedOver, silentMs: number): Promise<NextRun | undefined> {
    const seed = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    const [next] = await this.statements.rows<NextRun>(NEXT, [organizations, holders, seed, silentMs, this.cap]);
    return next;
  }

  /** True if a tenant with less than its share has waited for `waitedMs`, while this tenant has more than its own. */
  async isOwedBy({ organizationId, holderId }: Tenant, waitedMs: number): Promise<boolean> {
    const [row] = await this.statements.rows<{ owed: boolean }>(IS_OWED, [
      organizationId,
      holderId,
      waitedMs,
      this.cap,
    ]);
    return row?.owed === true;
  }
}
