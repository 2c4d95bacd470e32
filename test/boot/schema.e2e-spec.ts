import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { startTestApp } from '../support/app.js';

/**
 * Without an entity: TypeORM's table, those of the event bus and of spending, which use SQL, and of
 * rate-limiter-flexible.
 */
const WITHOUT_ENTITY = [
  'failed_sign_ins',
  'mail_counts',
  'migrations',
  'rate_limits',
  'run_event_batches',
  'run_event_streams',
  'spend_limits',
  'spend_windows',
];

async function tablesOf(database: DataSource): Promise<string[]> {
  const rows: { tablename: string }[] = await database.query(
    `SELECT table_name AS tablename FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  );
  return rows.map(({ tablename }) => tablename);
}

describe('the migrated schema', () => {
  let service: Awaited<ReturnType<typeof startTestApp>>;
  let database: DataSource;

  /** The statements with which TypeORM would synchronize the schema with the entities. */
  const differences = async (): Promise<string[]> => {
    const { upQueries } = await database.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  };

  beforeAll(async () => {
    service = await startTestApp();
    database = service.app.get(DataSource);
  });
  afterAll(() => service?.close());

  it('has an entity for every table', async () => {
    const ofEntities = database.entityMetadatas.map(({ tableName }) => tableName);
    expect(await tablesOf(database)).toEqual([...ofEntities, ...WITHOUT_ENTITY].toSorted());
  });

  it('matches the entities', async () => {
    expect(await differences()).toEqual([]);
  });

  it('would not match with a missing column, foreign key or index', async () => {
    await database.query(`
      ALTER TABLE threads DROP COLUMN title;
      ALTER TABLE runs DROP CONSTRAINT runs_organization_id_thread_id_fkey;
      DROP INDEX runs_open_idx`);
    expect(await differences()).toEqual([
      expect.stringContaining('"threads" ADD "title"'),
      expect.stringContaining('INDEX "runs_open_idx"'),
      expect.stringContaining('"runs_organization_id_thread_id_fkey"'),
    ]);
  });
});
