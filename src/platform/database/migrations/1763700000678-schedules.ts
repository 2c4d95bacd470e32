import type { MigrationInterface, QueryRunner } from 'typeorm';
import { replaced } from './1763700000540-run-turns.js';
import { RECORD } from './1763700000677-webhooks.js';

/** Schedules (`src/automation/schedules/`), and which of them posted a run. */
export class Schedules1763700000678 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(TABLE);
    await queryRunner.query('ALTER TABLE runs ADD COLUMN schedule_id uuid');
    await queryRunner.query(
      replaced(RECORD, [
        "'metadata', _run.metadata,",
        "'metadata', _run.metadata,\n                 'schedule_id', _run.schedule_id,",
      ]),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(replaced(RECORD));
    await queryRunner.query('ALTER TABLE runs DROP COLUMN schedule_id; DROP TABLE schedules');
  }
}

// No foreign keys to the agent, the thread and the credential: a schedule without them stays, disabled with the reason.
const TABLE = `
  CREATE TABLE schedules (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    title varchar(256) NOT NULL,
    virtual_mcp_id uuid NOT NULL,
    thread_id varchar(128) COLLATE "C",
    cron varchar(256) NOT NULL,
    timezone varchar(64) NOT NULL,
    message text NOT NULL,
    tier varchar(16),
    overlap varchar(16) NOT NULL,
    catch_up boolean NOT NULL,
    enabled boolean NOT NULL,
    disabled_reason varchar(256),
    next_run_at timestamptz(3),
    last_run_at timestamptz(3),
    last_run_id uuid,
    last_skipped_at timestamptz(3),
    last_skip_reason varchar(256),
    credential_kind varchar(16) NOT NULL,
    credential_id varchar(2304) NOT NULL,
    user_id uuid,
    api_key_id uuid,
    grant_id uuid,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    updated_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT schedules_overlap_check CHECK (overlap IN ('skip', 'queue'))
  );
  CREATE INDEX schedules_organization_idx ON schedules (organization_id, created_at);
  CREATE INDEX schedules_due_idx ON schedules (next_run_at) WHERE enabled`;
