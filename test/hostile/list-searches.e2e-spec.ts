import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type HostileTarget, startHostileTarget } from './harness.js';

const ROWS = 200_000;
const ROUNDS = 2;

const contains = (field: string, value: string) => ({ field: [field], operator: 'contains', value });
/** No condition matches, so each is compared with every row. */
const costly = (field: string) => ({
  operator: 'or',
  conditions: Array.from({ length: 15 }, (_, n) => ({ field: [field], operator: 'like', value: `%${n}%x%y%z` })),
});

/** An organization with many threads and events, and callers who search all of them at once. */
describe('searches in long lists', () => {
  let target: HostileTarget;

  beforeAll(async () => {
    target = await startHostileTarget();
    await target.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
    const client = new Client({ connectionString: target.databaseUrl });
    await client.connect();
    await client.query(
      `INSERT INTO threads (organization_id, id, title, virtual_mcp_id, status, metadata)
       SELECT agent.organization_id, gen_random_uuid()::text, 'Conversation about the order ' || n, agent.id, 'completed', '{}'
         FROM connections agent JOIN organizations o ON o.id = agent.organization_id, generate_series(1, $1::int) n
        WHERE o.slug = 'default' AND agent.title = 'Agent'`,
      [ROWS],
    );
    await client.query(
      `INSERT INTO audit_events (organization_id, at, id, event, target_name)
       SELECT o.id, now() - n * interval '1 s', gen_random_uuid(), 'key.created', 'The key of the customer ' || n
         FROM organizations o, generate_series(1, $1::int) n WHERE o.slug = 'default'`,
      [ROWS],
    );
    await client.query('ANALYZE');
    await client.end();
  }, 180_000);

  afterAll(() => target?.close());

  it.each([
    ['60 callers, threads', 60, 'COLLECTION_THREADS_LIST', contains('title', 'nowhere')],
    ['10 callers, threads, 15 patterns', 10, 'COLLECTION_THREADS_LIST', costly('title')],
    ['60 callers, threads, 15 patterns', 60, 'COLLECTION_THREADS_LIST', costly('title')],
    ['60 callers, events, 15 patterns', 60, 'AUDIT_EVENTS_LIST', costly('target_name')],
  ])(
    'of %s do not keep the others from the database',
    async (what, callers, tool, where) => {
      const statuses = new Map<number, number>();
      const start = performance.now();
      let error: unknown;
      try {
        await target.withstands(async () => {
          for (let round = 0; round < ROUNDS; round++) {
            const asked = Array.from({ length: callers }, () => target.tool(tool, { where }));
            for (const { status } of await Promise.all(asked)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        });
      } catch (caught) {
        error = caught;
      }
      process.stdout.write(
        `${what}: ${JSON.stringify([...statuses])} in ${Math.round(performance.now() - start)} ms\n`,
      );
      if (error !== undefined) throw error;
      expect([...statuses.keys()].filter((status) => status !== 200 && status !== 429)).toEqual([]);
    },
    240_000,
  );
});
