import { beforeAll, expect, it } from '@jest/globals';
import type { QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { PreparedStatements } from '../../../src/platform/database/prepared-statements.js';
import { RunTurns } from '../../../src/runtime/runs/records/run-turns.js';
import { createAgent } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';

const WAITING = 5000;
const SILENT_MS = 30_000;

const app = useStarted(() => startTestApp({ env: { ROLE: 'api' } }));
let database: DataSource;

beforeAll(async () => {
  database = app.app.get(DataSource);
  const agentId = await createAgent(app);
  await database.query(
    `INSERT INTO threads (organization_id, id, title, virtual_mcp_id, status, created_by)
     SELECT organizations.id, 't' || n, 't', $1, 'in_progress', gen_random_uuid() FROM organizations, generate_series(1, ${WAITING}) n`,
    [agentId],
  );
  // Four keys of two users, who wait without a key, too; the first of the keys waits with nearly all.
  await database.query(
    `INSERT INTO runs (id, organization_id, thread_id, agent_id, user_id, api_key_id, holder_id, request_id, status, tier, message_id, turn_at)
     SELECT gen_random_uuid(), organizations.id, 't' || n, $1, person, key, coalesce(key, person), 'r', 'queued', 'smart', 'm', now()
       FROM organizations, generate_series(1, ${WAITING}) n,
            LATERAL (SELECT uuid('00000000-0000-4000-8000-00000000000' || n % 2) AS person,
                            CASE WHEN n > 100 THEN uuid('00000000-0000-4000-9000-000000000000')
                                 WHEN n > 10 THEN uuid('00000000-0000-4000-9000-00000000000' || n % 4) END AS key) AS holder
      ORDER BY random()`,
    [agentId],
  );
  await database.query('ANALYZE runs');
});

it('claims the first run of a tenant, whichever tenants are passed over', async () => {
  const turns = app.app.get(RunTurns, { strict: false });
  const found: string[] = [];
  const holders: string[] = [];
  for (;;) {
    const search = await turns.claimNextRun('e', [], SILENT_MS, { organizations: [], holders });
    if (search.outcome !== 'claimed') {
      expect(search.outcome).toBe('passed_over');
      break;
    }
    found.push(search.run.id);
    holders.push(search.run.holderId);
  }
  expect(new Set(holders).size).toBe(6);
  const first = await database.query<{ id: string; holder: string }[]>(
    `SELECT DISTINCT ON (holder_id) id FROM runs ORDER BY holder_id, position`,
  );
  expect(first.map(({ id }) => id)).toEqual(expect.arrayContaining(found));
});

it('the choice does not read what one key has waiting', async () => {
  let read = 0;
  const explained = {
    async rows<R extends QueryResultRow>({ text }: { text: string }, values: readonly unknown[]): Promise<R[]> {
      const [{ 'QUERY PLAN': plan }] = await database.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values]);
      read = rowsReadBy(plan[0].Plan as PlanNode);
      return [{ outcome: 'none' }] as unknown as R[];
    },
  } as PreparedStatements;
  const turns = new RunTurns(explained, app.config);
  await turns.claimNextRun('e', [], SILENT_MS);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(WAITING / 10);
  await turns.isOwedBy({ organizationId: crypto.randomUUID(), holderId: crypto.randomUUID() }, 100);
  expect(read).toBeLessThan(WAITING / 10);
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

function rowsReadBy(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsReadBy(child), 0);
  if (node['Relation Name'] !== 'runs') return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}
