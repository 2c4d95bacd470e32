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
  const client = new Client({ connectionString: service.database.url });
  await client.connect();
  try {
    await client.query(`BEGIN; SELECT FROM organizations WHERE slug = '${service.org}' FOR NO KEY UPDATE`);
    const answer = call().then((response) => response);
    await eventually(async () => expect(await waitingForLocks(service)).toBe(1));
    await change();
    await client.query('COMMIT');
    return await answer;
  } finally {
    await client.end();
  }
}
