import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../core/config/app-config.js';
import { OPEN_RUN_STATUS_LIST } from '../../../core/run-status.js';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { type ClaimedRun, HAS_SPEND_LIMIT, RUN_COLUMNS, THREAD_CREATED_AT } from './new-run.js';
import { HAS_LOST_CREDENTIAL } from './lost-credential.js';

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

/**
 * What a search for the next run found. `taken_over`: a run whose worker sent no heartbeats any more. `missed`: another
 * worker has claimed the run first, or has taken the room of its organization. `passed_over`: runs wait, all of them of
 * those passed over.
 */
type Search = { outcome: 'claimed' | 'taken_over'; run: ClaimedRun } | { outcome: 'missed' | 'passed_over' | 'none' };

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
           coalesce((SELECT sum(runs) FROM busy
                      WHERE busy.organization_id = heads.organization_id), 0) AS organization_runs,
           coalesce((SELECT runs FROM busy
                      WHERE busy.organization_id = heads.organization_id AND busy.holder = heads.holder), 0) AS holder_runs
      FROM heads
  ), waiting AS (
    SELECT * FROM counted
     WHERE organization_runs < coalesce(run_concurrency_limit(organization_id, ${cap}), 'infinity'::float8)
  )`;

/**
 * Commits the statement without waiting for the disk. A claim that a crash of the database reverts is made again;
 * nothing reported to callers is ever lost this way.
 */
const WITHOUT_WAITING_FOR_THE_DISK = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;

/** The runs of a thread are executed one at a time, in their order. */
const IS_FIRST_OPEN_RUN = `NOT EXISTS (SELECT 1 FROM runs earlier
                           WHERE earlier.organization_id = runs.organization_id AND earlier.thread_id = runs.thread_id
                             AND earlier.position < runs.position AND earlier.status IN (${OPEN_RUN_STATUS_LIST}))`;

// A process that was stalled searches before its heartbeats are written: its own attempts do not count as silent.
const IS_LOST = `(heartbeat_at = '-infinity'
  OR (heartbeat_at < now() - make_interval(secs => $4::float8 / 1000) AND epoch <> ALL($7::text[])))`;

// A lost run comes first, and needs no turn. If another transaction has locked its row, such as that of a worker which
// hangs, it is left out: every claim of every worker would wait for that lock. Chooses at random among tenants with
// equally many running runs, so that a long queue is no advantage. The claim checks again what other workers can have
// changed since. now() is when the statement arrived, which can be before the end of the run that it sees as the last
// one.
const CLAIM_NEXT = {
  name: 'run_claim_next',
  text: `
    WITH ${shares('$5::integer')}, fairest AS (
      SELECT id, attempt, false FROM waiting
       WHERE NOT organization_id = ANY($1::uuid[]) AND NOT holder = ANY($2::uuid[])
       ORDER BY organization_runs, hashtextextended(organization_id::text, $3), holder_runs, random() LIMIT 1
    ), lost AS (
      SELECT id, attempt, heartbeat_at > '-infinity' FROM runs
       WHERE status = 'running' AND ${IS_LOST} ORDER BY position LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ), found AS (
      SELECT found_id, found_attempt, was_silent
        FROM (SELECT 1, * FROM lost UNION ALL SELECT 2, * FROM fairest)
             AS found (rank, found_id, found_attempt, was_silent)
       ORDER BY rank LIMIT 1
    ), claimed AS (
      UPDATE runs SET status = 'running', attempt = attempt + 1, epoch = $6,
        started_at = coalesce(started_at, clock_timestamp()), heartbeat_at = now(), updated_at = now()
        FROM found
       WHERE id = found_id AND attempt = found_attempt AND ${WITHOUT_WAITING_FOR_THE_DISK}
         AND ((status = 'running' AND ${IS_LOST})
           OR (status = 'queued' AND ${IS_FIRST_OPEN_RUN} AND run_has_room(organization_id, $5)))
       RETURNING ${RUN_COLUMNS}, ${HAS_LOST_CREDENTIAL} AS "hasLostCredential",
         ${THREAD_CREATED_AT} AS "threadCreatedAt",
         run_concurrency_limit(organization_id, $5) IS NOT NULL AS "isLimited",
         ${HAS_SPEND_LIMIT} AS "hasSpendLimit", (
         SELECT earlier.id FROM runs earlier
          WHERE earlier.organization_id = runs.organization_id AND earlier.thread_id = runs.thread_id
            AND earlier.position < runs.position ORDER BY earlier.position DESC LIMIT 1) AS "previousId"
    )
    SELECT CASE WHEN id IS NOT NULL THEN CASE WHEN was_silent THEN 'taken_over' ELSE 'claimed' END
                WHEN found_id IS NOT NULL THEN 'missed'
                WHEN EXISTS (SELECT FROM waiting) THEN 'passed_over' ELSE 'none' END AS outcome, claimed.*
      FROM (SELECT) AS search LEFT JOIN found ON true LEFT JOIN claimed ON true`,
};

/** How long a holder without a slot waits until holders with one slot yield it in turns. */
const PATIENCE = '2 seconds';

// Moving a slot must bring the two holders closer to each other: a run does not yield if the other holder would then
// have as many slots as it had. If a holder has had no slot for a while, the last slot rotates.
const IS_OWED = {
  name: 'run_turn_is_owed',
  text: `
    WITH ${shares('$4::integer')}, own AS (
      SELECT coalesce(sum(runs), 0) AS organization_runs,
        coalesce(sum(runs) FILTER (WHERE holder = $2), 0) AS holder_runs
        FROM busy WHERE organization_id = $1
    )
    SELECT EXISTS (
      SELECT FROM waiting, own
       WHERE turn_at < now() - make_interval(secs => $3::float8 / 1000)
         AND CASE WHEN organization_id = $1
                  THEN holder <> $2 AND (waiting.holder_runs + 1 < own.holder_runs
                    OR (waiting.holder_runs = 0 AND turn_at < now() - interval '${PATIENCE}'))
                  ELSE waiting.organization_runs + 1 < own.organization_runs
                    OR (waiting.organization_runs = 0 AND turn_at < now() - interval '${PATIENCE}') END
    ) AS owed`,
};

/** Claims the next of the runs that wait for a slot. Shares are counted over all workers. */
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
   * Starts the next attempt: at a run whose worker has given it up or has been silent for `silentMs`, otherwise at the
   * first run of the tenant with the fewest running runs.
   * @param own the epochs of the attempts of this process
   */
  async claimNextRun(
    epoch: string,
    own: readonly string[],
    silentMs: number,
    { organizations, holders }: PassedOver = { organizations: [], holders: [] },
  ): Promise<Search> {
    const seed = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    const values = [organizations, holders, seed, silentMs, this.cap, epoch, own];
    const [row] = await this.statements.rows<ClaimedRun & Pick<Search, 'outcome'>>(CLAIM_NEXT, values);
    if (row === undefined) throw new Error('A search has one row.');
    const { outcome, ...run } = row;
    return outcome === 'claimed' || outcome === 'taken_over' ? { outcome, run } : { outcome };
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
