import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/** What finds runs and threads by their words and by what they have used: the columns, which runs fill as they end. */
export class FoundRuns1763700019100 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE runs ADD COLUMN tools text[] NOT NULL DEFAULT '{}';
      ALTER TABLE threads
        ADD COLUMN tools text[] NOT NULL DEFAULT '{}',
        ADD COLUMN cost_usd double precision,
        ADD COLUMN total_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN duration_ms bigint NOT NULL DEFAULT 0`);
    for (const name of FUNCTIONS) await createFunction(queryRunner, name);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP FUNCTION search_words;
      DROP FUNCTION message_words;
      DROP FUNCTION text_words;
      DROP FUNCTION message_tools;
      ALTER TABLE threads DROP COLUMN tools, DROP COLUMN cost_usd, DROP COLUMN total_tokens, DROP COLUMN duration_ms;
      ALTER TABLE runs DROP COLUMN tools`);
  }
}

const FUNCTIONS = ['message_tools', 'text_words', 'message_words', 'search_words', 'run_finish'];
