import { expect } from '@jest/globals';
import { Client } from 'pg';
import type { Response, Test } from 'supertest';
import { eventually } from './eventually.js';
import type { TestService } from './service.js';

interface Database {
  query(statement: string): Promise<unknown>;
}

/** How many connections to the database of a spec wait for a lock that another one holds. */
export async function waitingForLocks(database: Database): Promise<number> {
  const [row] = (await database.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )) as { count: number }[];
  return row?.count ?? 0;
}

/**
 * Makes a call to a service of the spec's own that waits for the lock of its organization until `change` has been made.
 */
export async function whileLocked(
  service: TestService,
  call: () => Test,
  change: () => Promise<unknown>,
): Promise<Response> {
  const lock = `SELECT FROM organizations WHERE slug = '${service.org}' FOR NO KEY UPDATE`;
  const [answer] = await whileRowsLocked(
    service,
    { lock, waiting: 1 },
    () => [call().then((response) => response)],
    change,
  );
  return answer as Response;
}

/**
 * Makes calls to a service of the spec's own while another transaction holds the locks of the statement `lock`. Commits
 * it when at least as many connections as `waiting` says wait for locks, and `change` has been made.
 */
export async function whileRowsLocked<Answer>(
  service: TestService,
  { lock, waiting }: { lock: string; waiting: number },
  call: () => Promise<Answer>[],
  change?: () => Promise<unknown>,
): Promise<Answer[]> {
  const client = new Client({ connectionString: service.database.url });
  await client.connect();
  try {
    await client.query(`BEGIN; ${lock}`);
    const answers = Promise.all(call());
    await eventually(async () => expect(await waitingForLocks(service)).toBeGreaterThanOrEqual(waiting));
    await change?.();
    await client.query('COMMIT');
    return await answers;
  } finally {
    await client.end();
  }
}
