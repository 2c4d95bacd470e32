import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TRACE_CHANGES } from './1763700000550-run-traces.js';
import { POST } from './1763700000400-run-transactions.js';
import { type Change, POST_CHANGES, replaced } from './1763700000540-run-turns.js';

/** Runs of callers without an API key: who posted them, with which grant, and whose share of the slots they use (`holder_id`). */
export class RunCallers1763700000601 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE runs
        ALTER COLUMN user_id DROP NOT NULL,
        ADD COLUMN grant_id uuid,
        ADD COLUMN holder_id uuid;
      UPDATE runs SET holder_id = coalesce(api_key_id, user_id);
      ALTER TABLE runs ALTER COLUMN holder_id SET NOT NULL;
      DROP INDEX runs_turn_idx;
      CREATE INDEX runs_turn_idx ON runs (organization_id, holder_id, position) WHERE status = 'queued' AND turn_at IS NOT NULL;
      DROP FUNCTION run_post`);
    await queryRunner.query(replaced(POST, ...POST_CHANGES, ...TRACE_CHANGES, ...CALLER_CHANGES));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION run_post');
    await queryRunner.query(replaced(POST, ...POST_CHANGES, ...TRACE_CHANGES));
    await queryRunner.query(`
      DROP INDEX runs_turn_idx;
      UPDATE runs SET user_id = agent_id WHERE user_id IS NULL;
      ALTER TABLE runs ALTER COLUMN user_id SET NOT NULL, DROP COLUMN grant_id, DROP COLUMN holder_id;
      CREATE INDEX runs_turn_idx ON runs (organization_id, api_key_id, user_id, position)
        WHERE status = 'queued' AND turn_at IS NOT NULL`);
  }
}

export const CALLER_CHANGES: readonly Change[] = [
  ['_api_key uuid, _request text', '_api_key uuid, _grant uuid, _request text'],
  ['user_id, api_key_id, request_id, status', 'user_id, api_key_id, grant_id, holder_id, request_id, status'],
  ['_user, _api_key, _request, ', '_user, _api_key, _grant, coalesce(_api_key, _user), _request, '],
];
