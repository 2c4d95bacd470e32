import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../../../platform/database/prepared-statements.js';
import { EPOCH_WITH_WORKER_LENGTH, WORKER_IN_EPOCH } from '../../../core/epochs.js';
import type { RunClaim } from './run-attempt.js';

/** Class of the advisory locks that worker processes hold, one for each; spells "WORK". */
const WORKER_LOCK = 0x574f524b;

/**
 * Takes the lock of a worker for the session. It is shared: a worker that replaces its connection does not wait until
 * the database has found the end of the old one. The value is the worker's id.
 */
export const LOCK_WORKER = `SELECT pg_advisory_lock_shared(${WORKER_LOCK}, hashtext($1)), pg_backend_pid() AS pid`;

/** No session holds the lock of the worker whose id the epoch of a running attempt names. */
const WORKER_IS_GONE = `
  status = 'running' AND length(epoch) = ${EPOCH_WITH_WORKER_LENGTH} AND NOT EXISTS (
    SELECT FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND classid = ${WORKER_LOCK} AND objsubid = 2
       AND objid = hashtext(substr(epoch, ${WORKER_IN_EPOCH}))::oid
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

const FIND = {
  name: 'lost_attempts_find',
  text: `SELECT id AS "runId", epoch, heartbeat_at::text AS "heartbeat" FROM runs
          WHERE ${WORKER_IS_GONE} AND heartbeat_at > '-infinity' LIMIT 1000`,
};

// Rows that are locked are left for a later search: one transaction that hangs must not keep the other runs waiting.
const GIVE_UP = {
  name: 'lost_attempts_give_up',
  text: `WITH lost AS (
           SELECT id FROM runs
             JOIN unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS suspect (run_id, suspect_epoch, heartbeat)
               ON runs.id = run_id AND epoch = suspect_epoch AND heartbeat_at = heartbeat
            WHERE ${WORKER_IS_GONE}
              FOR NO KEY UPDATE OF runs SKIP LOCKED
         )
         UPDATE runs SET heartbeat_at = '-infinity' FROM lost WHERE runs.id = lost.id
         RETURNING runs.id AS "runId", attempt`,
};

/** An attempt whose worker holds no lock. */
interface SuspectedAttempt {
  readonly runId: string;
  readonly epoch: string;
  /** The time of the last heartbeat, as the database writes it. */
  readonly heartbeat: string;
}

/** Finds attempts whose worker has died, by the lock that its connection held. */
@Injectable()
export class LostAttempts {
  constructor(private readonly statements: PreparedStatements) {}

  /** Attempts whose worker holds no lock now. It can live: its connection was lost, and it takes the lock again. */
  find(): Promise<SuspectedAttempt[]> {
    return this.statements.rows<SuspectedAttempt>(FIND, []);
  }

  /**
   * Gives up those attempts whose worker still holds no lock and has sent no heartbeat since they were found. Returns
   * them; each one is returned to one caller only.
   */
  giveUp(suspects: readonly SuspectedAttempt[]): Promise<Omit<RunClaim, 'epoch'>[]> {
    return this.statements.rows<Omit<RunClaim, 'epoch'>>(GIVE_UP, [
      suspects.map(({ runId }) => runId),
      suspects.map(({ epoch }) => epoch),
      suspects.map(({ heartbeat }) => heartbeat),
    ]);
  }
}
