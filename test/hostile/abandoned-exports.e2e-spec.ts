import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { Client } from 'pg';
import { type HostileTarget, startHostileTarget } from './harness.js';

const RECORDS = 400_000;
const EXPORTS = 300;
const EVERY_MS = 40;

/** One organization with many records, and callers who begin exports of nothing and leave. */
describe('abandoned exports', () => {
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

  it('do not keep the others from the database', async () => {
    const where = { field: ['tool_name'], operator: 'eq', value: 'NOTHING' };
    const begin = async (): Promise<void> => {
      const leaving = new AbortController();
      const asked = fetch(`${target.url}/api/default/monitoring/export`, {
        method: 'POST',
        headers: { authorization: `Bearer ${target.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ records: 'calls', format: 'jsonl', where }),
        signal: leaving.signal,
      });
      asked.catch(() => undefined);
      await sleep(EVERY_MS);
      leaving.abort();
    };
    await target.withstands(async () => {
      for (let n = 0; n < EXPORTS; n++) await begin();
    });
  }, 240_000);
});
