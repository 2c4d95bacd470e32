import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createFunction } from './create-function.js';

/**
 * Finds runs and threads by their words, and by what they have used. It reads every message once; messages are not
 * stored meanwhile.
 */
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
    await queryRunner.query(`
      UPDATE runs SET tools = message_tools(answer.parts) FROM messages answer
       WHERE runs.status IN ('completed', 'failed', 'cancelled') AND answer.organization_id = runs.organization_id
         AND answer.thread_id = runs.thread_id AND answer.id = runs.message_id
         AND answer.parts::text LIKE '%"dynamic-tool"%';

      UPDATE threads
         SET cost_usd = used.cost_usd, total_tokens = used.total_tokens, duration_ms = used.duration_ms,
             tools = (ARRAY(SELECT DISTINCT unnest(tools) FROM runs
               WHERE organization_id = threads.organization_id AND thread_id = threads.id
                 AND status IN ('completed', 'failed', 'cancelled')))[1:100]
        FROM (
          SELECT organization_id, thread_id, sum(cost_usd) AS cost_usd,
                 coalesce(sum((usage->>'totalTokens')::bigint), 0) AS total_tokens,
                 coalesce(sum(round(extract(epoch FROM finished_at - started_at) * 1000) - waited_ms), 0) AS duration_ms
            FROM runs WHERE status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
        ) used
       WHERE used.organization_id = threads.organization_id AND used.thread_id = threads.id;

      CREATE INDEX messages_words_idx ON messages USING gin (message_words(organization_id, parts));
      CREATE INDEX threads_words_idx ON threads USING gin (text_words(organization_id, title))`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP INDEX threads_words_idx;
      DROP INDEX messages_words_idx;
      DROP FUNCTION search_words;
      DROP FUNCTION message_words;
      DROP FUNCTION text_words;
      DROP FUNCTION message_tools;
      ALTER TABLE threads DROP COLUMN tools, DROP COLUMN cost_usd, DROP COLUMN total_tokens, DROP COLUMN duration_ms;
      ALTER TABLE runs DROP COLUMN tools`);
  }
}

const FUNCTIONS = ['message_tools', 'text_words', 'message_words', 'search_words', 'run_finish'];
