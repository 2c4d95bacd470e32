import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type HostileTarget, startHostileTarget } from './harness.js';

const RECORDS = 400_000;
const CALLERS = 60;
const ROUNDS = 2;

/** One organization with many records, and callers who want statistics of all of them at once. */
describe('statistics of many records', () => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget();
    const client = new Client({ connectionString: target.databaseUrl });
    await client.connect();
    await client.query(
      `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, request_id, public)
       SELECT o.id, now() - n * interval '100 ms', gen_random_uuid(), 'api', 'TOOL_' || n % 400, 'success', n % 1000, 'request', false
         FROM organizations o, generate_series(1, $1::int) n WHERE o.slug = 'default'`,
      [RECORDS],
    );
    await client.end();
  }, 180_000);

  afterAll(() => target?.close());

  it.each([
    ['as they are', {}],
    ['over time, as the console reads them', { group_by: 'connection', over_time: true }],
  ])(
    '%s do not keep the others from the database',
    async (_what, input) => {
      const statuses: number[] = [];
      await target.withstands(async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const asked = Array.from({ length: CALLERS }, () => target.tool('MONITORING_STATS', input));
          for (const { status } of await Promise.all(asked)) statuses.push(status);
        }
      });
      // Refused are those that would wait too long behind the others.
      expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      expect(statuses).toContain(200);
    },
    240_000,
  );
});
