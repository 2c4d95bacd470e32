import { expect, it } from '@jest/globals';
import { startDataSource } from '../../support/data-source.js';
import { useStarted } from '../../support/use-started.js';

const own = useStarted(startDataSource);

/** Their rows are never deleted. */
const KEPT = ['organizations', 'users'];

/**
 * Foreign keys without an index by which PostgreSQL finds the rows that refer to a deleted one. An index serves that
 * begins with a column of the key; `organization_id` alone only if the key has no other column.
 */
const WITHOUT_INDEX = `
  SELECT conname AS name FROM pg_constraint key
   WHERE contype = 'f' AND confrelid::regclass::text <> ALL($1)
     AND NOT EXISTS (
       SELECT FROM pg_index
        WHERE indrelid = key.conrelid AND indkey[0] = ANY(key.conkey)
          AND (indkey[1] = ANY(key.conkey) OR cardinality(key.conkey) = 1
               OR (SELECT attname <> 'organization_id' FROM pg_attribute
                    WHERE attrelid = key.conrelid AND attnum = indkey[0])))
   ORDER BY conname`;

it('a row is deleted without reading the rows of all organizations that refer to others', async () => {
  expect(await own.dataSource.query(WITHOUT_INDEX, [KEPT])).toEqual([]);
});

it('connections that run programs are found without reading all connections', async () => {
  await own.dataSource.query(`
    INSERT INTO organizations (id, slug, name) SELECT gen_random_uuid(), 'o' || n, 'o' FROM generate_series(1, 20) n;
    INSERT INTO connections (id, organization_id, connection_type, title, connection_url)
    SELECT gen_random_uuid(), id, 'HTTP', 'c', 'http://127.0.0.1:9/mcp' FROM organizations, generate_series(1, 500);
    ANALYZE connections`);
  // As `ConnectionRepository.existsProgramBeside` asks.
  const plan = await own.dataSource.query<{ 'QUERY PLAN': string }[]>(
    `EXPLAIN SELECT FROM connections WHERE connection_type = $1 AND organization_id <> $2 LIMIT 1`,
    ['STDIO', crypto.randomUUID()],
  );
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toContain('connections_program_idx');
});
