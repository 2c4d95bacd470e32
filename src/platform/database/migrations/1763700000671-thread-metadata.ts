import type { MigrationInterface, QueryRunner } from 'typeorm';
import { POST } from './1763700000400-run-transactions.js';
import { type Change, POST_CHANGES, replaced } from './1763700000540-run-turns.js';
import { TRACE_CHANGES } from './1763700000550-run-traces.js';
import { CALLER_CHANGES } from './1763700000601-run-callers.js';

/** Metadata of threads, and its snapshot on each run from when the run was posted. */
export class ThreadMetadata1763700000671 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE threads ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
      ALTER TABLE runs ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
      CREATE INDEX threads_metadata_idx ON threads USING gin (metadata jsonb_path_ops)`);
    await queryRunner.query(
      replaced(POST, ...POST_CHANGES, ...TRACE_CHANGES, ...CALLER_CHANGES, ...THREAD_METADATA_CHANGES),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(replaced(POST, ...POST_CHANGES, ...TRACE_CHANGES, ...CALLER_CHANGES));
    await queryRunner.query(`
      DROP INDEX threads_metadata_idx;
      ALTER TABLE runs DROP COLUMN metadata;
      ALTER TABLE threads DROP COLUMN metadata`);
  }
}

export const THREAD_METADATA_CHANGES: readonly Change[] = [
  ['_thread_agent uuid;', '_thread_agent uuid;\n    _thread_metadata jsonb;'],
  [
    'SELECT virtual_mcp_id INTO _thread_agent FROM',
    'SELECT virtual_mcp_id, metadata INTO _thread_agent, _thread_metadata FROM',
  ],
  ['turn_at, traceparent, tracestate)', 'turn_at, traceparent, tracestate, metadata)'],
  ['now() END, _traceparent, _tracestate)', 'now() END, _traceparent, _tracestate, _thread_metadata)'],
];
