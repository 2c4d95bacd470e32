import type { MigrationInterface, QueryRunner } from 'typeorm';
import { POST } from './1763700000400-run-transactions.js';
import { type Change, POST_CHANGES, replaced } from './1763700000540-run-turns.js';

/** The W3C trace context of the request that posted a run, so that every attempt continues its trace, whichever worker makes it. */
export class RunTraces1763700000550 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE runs ADD COLUMN traceparent varchar(256), ADD COLUMN tracestate varchar(512)');
    await queryRunner.query('DROP FUNCTION run_post');
    await queryRunner.query(replaced(POST, ...POST_CHANGES, ...TRACE_CHANGES));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION run_post');
    await queryRunner.query(replaced(POST, ...POST_CHANGES));
    await queryRunner.query('ALTER TABLE runs DROP COLUMN traceparent, DROP COLUMN tracestate');
  }
}

export const TRACE_CHANGES: readonly Change[] = [
  ['_max_waiting integer,', '_max_waiting integer, _traceparent text, _tracestate text,'],
  ['idempotency_hash, turn_at)', 'idempotency_hash, turn_at, traceparent, tracestate)'],
  ['CASE WHEN _is_head THEN now() END)', 'CASE WHEN _is_head THEN now() END, _traceparent, _tracestate)'],
];
