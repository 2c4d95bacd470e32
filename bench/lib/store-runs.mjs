import { copyOf } from './copy-of.mjs';

/** How many stored runs share a thread. */
const RUNS_PER_THREAD = 10;
const RUNS_PER_STATEMENT = 100_000;

/** Columns of a copy that differ from the template's. */
const THREAD = { id: `'stored-' || n`, created_at: "template.created_at - n * interval '10 s'" };
const RUN = {
  id: 'gen_random_uuid()',
  thread_id: `'stored-' || n / ${RUNS_PER_THREAD}`,
  message_id: `'answer-' || n`,
  created_at: `template.created_at - n * interval '1 s'`,
};
const MESSAGE = {
  id: `CASE template.role WHEN 'user' THEN 'question-' || run.position ELSE run.message_id END`,
  thread_id: 'run.thread_id',
  run_id: 'run.id',
  run_position: 'run.position',
  created_at: 'run.created_at',
};

/**
 * Stores copies of the newest completed run, with their messages and threads, and lets PostgreSQL count them.
 * @param {import('pg').Client} client
 * @param {number} count of runs
 */
export async function storeRuns(client, count) {
  const { rows } = await client.query(
    `SELECT id, thread_id FROM runs WHERE status = 'completed' ORDER BY position DESC`,
  );
  const [template] = rows;
  await client.query(
    `INSERT INTO threads ${await copyOf(client, 'threads', THREAD)} FROM threads template, generate_series(0, $2) n WHERE template.id = $1`,
    [template.thread_id, Math.floor(count / RUNS_PER_THREAD)],
  );
  for (let first = 1; first <= count; first += RUNS_PER_STATEMENT) {
    const last = Math.min(count, first + RUNS_PER_STATEMENT - 1);
    const { rows: stored } = await client.query(
      `WITH stored AS (
         INSERT INTO runs ${await copyOf(client, 'runs', RUN)} FROM runs template, generate_series($2::int, $3::int) n WHERE template.id = $1
         RETURNING position
       ) SELECT min(position) AS first, max(position) AS last FROM stored`,
      [template.id, first, last],
    );
    await client.query(
      `INSERT INTO messages ${await copyOf(client, 'messages', MESSAGE)} FROM messages template, runs run
        WHERE template.run_id = $1 AND run.position BETWEEN $2 AND $3`,
      [template.id, stored[0].first, stored[0].last],
    );
  }
  await client.query('VACUUM ANALYZE');
}
