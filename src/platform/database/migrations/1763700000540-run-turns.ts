import type { MigrationInterface, QueryRunner } from 'typeorm';
import { FINISH, POST } from './1763700000400-run-transactions.js';

/**
 * What the fair choice of the next run needs (`src/runtime/runs/records/run-turns.ts`): which waiting runs are the first of their thread,
 * without looking at all that wait behind them. And the mark of each claim (`RunClaim`).
 */
export class RunTurns1763700000540 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE runs ADD COLUMN turn_at timestamptz(3), ADD COLUMN yields integer NOT NULL DEFAULT 0, ADD COLUMN epoch text`);
    await queryRunner.query(`
      UPDATE runs SET turn_at = now() WHERE status = 'queued' AND NOT EXISTS (
        SELECT FROM runs earlier WHERE earlier.organization_id = runs.organization_id AND earlier.thread_id = runs.thread_id
          AND earlier.position < runs.position AND earlier.status IN ('queued', 'running'))`);
    await queryRunner.query(`
      CREATE INDEX runs_turn_idx ON runs (organization_id, api_key_id, user_id, position)
        WHERE status = 'queued' AND turn_at IS NOT NULL`);
    await queryRunner.query(`CREATE INDEX runs_running_idx ON runs (organization_id) WHERE status = 'running'`);
    await queryRunner.query(replaced(POST, ...POST_CHANGES));
    await queryRunner.query('DROP FUNCTION run_finish');
    await queryRunner.query(replaced(FINISH, ...FINISH_CHANGES));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(replaced(POST));
    await queryRunner.query('DROP FUNCTION run_finish');
    await queryRunner.query(replaced(FINISH));
    await queryRunner.query('DROP INDEX runs_turn_idx, runs_running_idx');
    await queryRunner.query('ALTER TABLE runs DROP COLUMN turn_at, DROP COLUMN yields, DROP COLUMN epoch');
  }
}

export type Change = readonly [from: string, to: string];

export const POST_CHANGES: readonly Change[] = [
  ['message_id, idempotency_key, idempotency_hash)', 'message_id, idempotency_key, idempotency_hash, turn_at)'],
  ['_temperature, _answer, _key, _hash)', '_temperature, _answer, _key, _hash, CASE WHEN _is_head THEN now() END)'],
];

// A run that released its slot and is ended before it continues has an answer, which says how it ended.
export const FINISH_CHANGES: readonly Change[] = [
  ['_run uuid, _attempt integer, _status', '_run uuid, _attempt integer, _epoch text, _status'],
  ["status = 'running' AND attempt = _attempt END", "status = 'running' AND attempt = _attempt AND epoch = _epoch END"],
  ['attempt = _attempt AND status = _status', 'attempt = _attempt AND epoch = _epoch AND status = _status'],
  [
    '    END IF;\n\n    organization :=',
    `    ELSIF _attempt IS NULL AND _ended.yields > 0 THEN
      UPDATE messages
        SET metadata = (metadata::jsonb || CASE _status WHEN 'cancelled' THEN '{"aborted": true}' ELSE '{"finishReason": "error"}' END::jsonb)::json,
            updated_at = now()
        WHERE organization_id = _ended.organization_id AND thread_id = _ended.thread_id AND id = _ended.message_id;
    END IF;

    organization :=`,
  ],
  [
    '    IF NOT _repeated THEN\n      UPDATE threads',
    `    UPDATE runs SET turn_at = now() WHERE id = next_run AND turn_at IS NULL;
    IF NOT _repeated THEN
      UPDATE threads`,
  ],
];

export function replaced(definition: string, ...changes: readonly Change[]): string {
  const all: readonly Change[] = [['CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'], ...changes];
  return all.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`The function does not hold "${from}".`);
    return text.replace(from, to);
  }, definition);
}
