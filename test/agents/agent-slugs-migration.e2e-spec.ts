import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { newId } from '../../src/core/ids.js';
import { AgentSlugs1763700015000 } from '../../src/platform/database/migrations/1763700015000-agent-slugs.js';
import { startDataSource } from '../support/data-source.js';
import { useStarted } from '../support/use-started.js';

const own = useStarted(startDataSource);

const CROWD = 3000;
const UUID = '7a0e8a1c-5c2f-4d3b-9f5e-1f2d3c4b5a69';

let runner: QueryRunner;
beforeEach(async () => {
  runner = own.dataSource.createQueryRunner();
  await new AgentSlugs1763700015000().down(runner);
});
afterEach(() => runner?.release());

it('gives agents the slugs of their titles, the oldest one first', async () => {
  const organizations = [newId(), newId()];
  for (const id of organizations) {
    await runner.query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [id, `org-${id}`]);
  }
  const titles = ['Orders', 'Éclair & Co.', 'Orders-2', 'Orders', '注文', UUID, 'x'.repeat(60), 'x'.repeat(70)];
  for (const [index, title] of [...titles, 'Orders'].entries()) {
    const [id, organization] = [newId(), organizations[index < titles.length ? 0 : 1]];
    await runner.query(
      `INSERT INTO connections (id, organization_id, title, connection_type, created_at)
       VALUES ($1, $2, $3, 'VIRTUAL', now() + $4 * interval '1 second')`,
      [id, organization, title, index],
    );
    await runner.query('INSERT INTO agents (id, organization_id) VALUES ($1, $2)', [id, organization]);
  }
  await new AgentSlugs1763700015000().up(runner);
  const rows: { slug: string }[] = await runner.query(
    'SELECT slug FROM agents JOIN connections USING (id) ORDER BY created_at',
  );
  expect(rows.map(({ slug }) => slug)).toEqual([
    'orders',
    'eclair-co',
    'orders-2',
    'orders-3',
    'agent',
    `agent-${UUID}`,
    'x'.repeat(52),
    `${'x'.repeat(52)}-2`,
    'orders',
  ]);
});

it('looks for few slugs for each of many agents of one title', async () => {
  const organization = newId();
  await runner.query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [
    organization,
    `org-${organization}`,
  ]);
  await runner.query(
    `WITH agent AS (
       INSERT INTO connections (id, organization_id, title, connection_type, created_at)
         SELECT gen_random_uuid(), $1, CASE number WHEN 1 THEN 'Crowd 7' ELSE 'Crowd' END, 'VIRTUAL',
                now() + number * interval '1 second'
           FROM generate_series(1, $2::integer) AS number
         RETURNING id
     ) INSERT INTO agents (id, organization_id) SELECT id, $1 FROM agent`,
    [organization, CROWD],
  );
  await runner.startTransaction();
  await new AgentSlugs1763700015000().up(runner);
  const [searched]: { count: number }[] = await runner.query(
    `SELECT pg_stat_get_xact_numscans('agents_slug_idx'::regclass)::integer AS count`,
  );
  await runner.commitTransaction();
  expect(searched?.count).toBeGreaterThanOrEqual(CROWD);
  expect(searched?.count).toBeLessThan(3 * CROWD);
  const rows: { slug: string }[] = await runner.query('SELECT slug FROM agents WHERE organization_id = $1', [
    organization,
  ]);
  const numbered = Array.from({ length: CROWD - 1 }, (_, index) => `crowd-${index + 2}`);
  expect(rows.map(({ slug }) => slug).toSorted()).toEqual(['crowd', ...numbered].toSorted());
});

it('gives a slug to agents that are created without one, as by processes of the version before', async () => {
  await new AgentSlugs1763700015000().up(runner);
  const [organization, ...ids] = [newId(), newId(), newId()];
  await runner.query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [
    organization,
    `org-${organization}`,
  ]);
  for (const id of ids) {
    await runner.query(
      `INSERT INTO connections (id, organization_id, title, connection_type) VALUES ($1, $2, 'New', 'VIRTUAL')`,
      [id, organization],
    );
    await runner.query('INSERT INTO agents (id, organization_id) VALUES ($1, $2)', [id, organization]);
  }
  const rows: { slug: string }[] = await runner.query('SELECT slug FROM agents WHERE organization_id = $1', [
    organization,
  ]);
  expect(rows).toEqual(
    ids.map(() => ({ slug: expect.stringMatching(/^agent-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) })),
  );
});
