import type { MigrationInterface, QueryRunner } from 'typeorm';
import { FINISH, POST } from './1763700000400-run-transactions.js';
import { type Change, FINISH_CHANGES, POST_CHANGES, replaced } from './1763700000540-run-turns.js';
import { TRACE_CHANGES } from './1763700000550-run-traces.js';
import { CALLER_CHANGES } from './1763700000601-run-callers.js';
import { THREAD_METADATA_CHANGES } from './1763700000671-thread-metadata.js';
import { REGENERATE } from './1763700000672-regeneration.js';

/** Tool calls that need an approval, the rules of agents for them, and runs that wait without a worker. */
export class Approvals1763700000674 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE agents ADD COLUMN approval_timeout integer NOT NULL DEFAULT 86400;
      ALTER TABLE agent_connections ADD COLUMN approval jsonb NOT NULL DEFAULT '"none"';
      ALTER TABLE runs
        ADD COLUMN waiting_since timestamptz(3),
        ADD COLUMN waited_ms bigint NOT NULL DEFAULT 0,
        DROP CONSTRAINT runs_status_check,
        ADD CONSTRAINT runs_status_check
          CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'));
      DROP INDEX runs_open_idx;
      CREATE INDEX runs_open_idx ON runs (organization_id, thread_id, position) WHERE status IN ('queued', 'running', 'waiting');
      CREATE INDEX runs_waiting_idx ON runs (id) WHERE status = 'waiting';
      ${APPROVALS}`);
    await queryRunner.query(WAIT);
    await queryRunner.query(replaced(POST, ...POSTS, OPEN_CHANGE));
    await queryRunner.query(replaced(FINISH, ...FINISH_CHANGES_WITH_APPROVALS));
    await queryRunner.query(replaced(REGENERATE, OPEN_CHANGE));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(replaced(POST, ...POSTS));
    await queryRunner.query(replaced(FINISH, ...FINISH_CHANGES));
    await queryRunner.query(replaced(REGENERATE));
    await queryRunner.query(`
      UPDATE runs SET status = 'queued', turn_at = now() WHERE status = 'waiting';
      DROP FUNCTION run_wait;
      DROP TABLE run_approvals;
      DROP INDEX runs_waiting_idx, runs_open_idx;
      CREATE INDEX runs_open_idx ON runs (organization_id, thread_id, position) WHERE status IN ('queued', 'running');
      ALTER TABLE runs
        DROP COLUMN waiting_since,
        DROP COLUMN waited_ms,
        DROP CONSTRAINT runs_status_check,
        ADD CONSTRAINT runs_status_check CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled'));
      ALTER TABLE agent_connections DROP COLUMN approval;
      ALTER TABLE agents DROP COLUMN approval_timeout`);
  }
}

// A run can be called about once by its provider's id of a call, which is unique in the answer.
const APPROVALS = `
  CREATE TABLE run_approvals (
    id uuid PRIMARY KEY,
    run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    tool_call_id varchar(128) NOT NULL,
    tool_name varchar(64) NOT NULL,
    connection_id uuid NOT NULL,
    input json NOT NULL,
    requested_at timestamptz(3) NOT NULL DEFAULT now(),
    expires_at timestamptz(3) NOT NULL,
    closed_at timestamptz(3),
    closed_as varchar(16),
    approved boolean,
    reason text,
    user_id uuid,
    api_key_id uuid,
    called_at timestamptz(3)
  );
  CREATE UNIQUE INDEX run_approvals_call_idx ON run_approvals (run_id, tool_call_id);
  CREATE INDEX run_approvals_expires_idx ON run_approvals (expires_at) WHERE closed_at IS NULL`;

// The run waits without a worker, unless all its approvals are closed or it was asked to stop. Whoever closes an approval holds the
// run's lock; the statements after the lock therefore see every approval that was closed before.
const WAIT = `
  CREATE FUNCTION run_wait(_run uuid, _attempt integer, _epoch text) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM runs
      WHERE id = _run AND attempt = _attempt AND epoch = _epoch AND status = 'running' AND cancel_requested_at IS NULL
      FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    PERFORM FROM run_approvals WHERE run_id = _run AND closed_at IS NULL;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    UPDATE runs SET status = 'waiting', waiting_since = now(), yields = yields + 1, updated_at = now() WHERE id = _run;
    RETURN true;
  END
  $$`;

const POSTS: readonly Change[] = [...POST_CHANGES, ...TRACE_CHANGES, ...CALLER_CHANGES, ...THREAD_METADATA_CHANGES];
const OPEN_CHANGE: Change = ["status IN ('queued', 'running')", "status IN ('queued', 'running', 'waiting')"];

// A run with approvals has an answer that must tell how they ended, so a worker ends it, even while it is queued. No approval of a run
// outlasts it.
const APPROVAL_CHANGES: readonly Change[] = [
  [
    "CASE WHEN _attempt IS NULL THEN status = 'queued' ELSE",
    `CASE WHEN _attempt IS NULL
                 THEN status = 'queued' AND NOT EXISTS (SELECT FROM run_approvals WHERE run_id = _run) ELSE`,
  ],
  [
    '    organization := _ended.organization_id;',
    `    IF _attempt IS NOT NULL THEN
      UPDATE run_approvals SET approved = false, reason = 'the run ended', closed_as = 'ended', closed_at = now()
        WHERE run_id = _run AND closed_at IS NULL;
    END IF;

    organization := _ended.organization_id;`,
  ],
];

export const FINISH_CHANGES_WITH_APPROVALS: readonly Change[] = [...FINISH_CHANGES, OPEN_CHANGE, ...APPROVAL_CHANGES];
