import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What runs that are over have used. Runs and threads are read meanwhile, and not stored: no run ends between the sums
 * and their storing, and those of runs that ended since the columns are there are set again, not added twice.
 */
export class UsedByThreads1763700019110 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    // In the order in which functions write to the two.
    await queryRunner.query(`
      LOCK TABLE runs, threads IN SHARE ROW EXCLUSIVE MODE;

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
                 least(coalesce(sum(greatest(round((usage->>'totalTokens')::numeric), 0)), 0), 9007199254740991)
                   AS total_tokens,
                 coalesce(sum(round(extract(epoch FROM finished_at - started_at) * 1000) - waited_ms), 0) AS duration_ms
            FROM runs WHERE status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
        ) used
       WHERE used.organization_id = threads.organization_id AND used.thread_id = threads.id`);
  }

  async down(): Promise<void> {
    // The columns are dropped with the migration that adds them.
  }
}
