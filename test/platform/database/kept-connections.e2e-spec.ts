import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

const PEAK = 12;
const KEPT = 5;
const IDLE_MS = 100;

let database: TestDatabase;
let source: DataSource;

beforeAll(async () => {
  database = await createTestDatabase();
  const options = dataSourceOptions(database.url);
  const extra = { ...(options.extra as object), idleTimeoutMillis: IDLE_MS };
  source = await new DataSource({ ...options, extra }).initialize();
});

afterAll(async () => {
  await source?.destroy();
  await database?.drop();
});

/** The server processes of as many connections in use at the same time. */
async function backends(connections: number): Promise<Set<number>> {
  const runners = Array.from({ length: connections }, () => source.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  const answers = await Promise.all(
    runners.map((runner) => runner.query('SELECT pg_backend_pid() AS pid') as Promise<{ pid: number }[]>),
  );
  await Promise.all(runners.map((runner) => runner.release()));
  return new Set(answers.flat().map(({ pid }) => pid));
}

it(`keeps ${KEPT} idle connections, so that callers after a quiet time wait for no handshake`, async () => {
  const before = await backends(PEAK);
  await sleep(10 * IDLE_MS);
  const after = await backends(PEAK);
  expect(after.size).toBe(PEAK);
  expect([...after].filter((pid) => before.has(pid))).toHaveLength(KEPT);
});
