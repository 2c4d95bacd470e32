import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { sentenceFor } from '../../../src/boot/start-failure.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import { MIGRATIONS } from '../../../src/platform/database/migrations.js';
import { TransientThreads1763700016000 } from '../../../src/platform/database/migrations/1763700016000-transient-threads.js';
import { TransientThreadsIndex1763700016500 } from '../../../src/platform/database/migrations/1763700016500-transient-threads-index.js';
import { MessagesWordsIndex1763700019120 } from '../../../src/platform/database/migrations/1763700019120-messages-words-index.js';
import { ThreadsWordsIndex1763700019130 } from '../../../src/platform/database/migrations/1763700019130-threads-words-index.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { schemaText } from './schema-text.js';

/** The migrations that the baseline replaces, in the order of their times. */
const REPLACED =
  `Initial1763700000000 RunEvents1763700000100 Audit1763700000200 Stdio1763700000300 RunTransactions1763700000400
  RunEventStart1763700000410 AuditContent1763700000420 StoredSizes1763700000510 McpTasks1763700000520
  RunEventEpochs1763700000530 RunTurns1763700000540 RunTraces1763700000550 OpenModelKinds1763700000570
  OpenConnectionTypes1763700000580 People1763700000600 RunCallers1763700000601 Oauth1763700000602
  KeysOfGrants1763700000603 SignIn1763700000605 PeopleList1763700000606 UpstreamOauth1763700000610
  AuditEvents1763700000620 ThreadTokens1763700000621 LinkMakers1763700000630 AgentHistory1763700000640
  Limits1763700000655 RunLimits1763700000656 ThreadMetadata1763700000671 Regeneration1763700000672
  ConnectionImport1763700000673 Approvals1763700000674 Webhooks1763700000677 Schedules1763700000678
  FailedRuns1763700000680 RunCosts1763700000690 StartedRuns1763700000691 SharedState1763700000700
  MakerKeys1763700000710 MailCounts1763700000711 RefreshLeases1763700000720 OperatorLinks1763700000721
  ApprovalTools1763700000740 StatusSince1763700000741 ApprovalTargets1763700000750 KeptQuotas1763700000760
  UsedSignIns1763700000761`.split(/\s+/);

const OF_EXTENSION = 'Pantry1764000000001';

let database: TestDatabase;
let dataSource: DataSource;
beforeEach(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
});
afterEach(async () => {
  await dataSource.destroy();
  await database.drop();
});

async function recordMigrations(names: readonly string[]): Promise<void> {
  await dataSource.query('DELETE FROM migrations');
  for (const name of names) {
    await dataSource.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [name.slice(-13), name]);
  }
}

async function recordedMigrations(): Promise<string[]> {
  const rows: { name: string }[] = await dataSource.query('SELECT name FROM migrations ORDER BY timestamp');
  return rows.map(({ name }) => name);
}

it('takes over a database with all migrations of before: rows stay, functions become the present ones', async () => {
  const schema = await schemaText(dataSource);
  const queryRunner = dataSource.createQueryRunner();
  for (const Later of MIGRATIONS.slice(1).toReversed()) await new Later().down(queryRunner);
  await queryRunner.release();
  await recordMigrations([...REPLACED, OF_EXTENSION]);
  await dataSource.query(`
    INSERT INTO organizations (id, slug, name) VALUES (gen_random_uuid(), 'kept', 'Kept');
    DROP FUNCTION run_finish;
    CREATE FUNCTION run_finish(_run uuid) RETURNS uuid LANGUAGE sql AS 'SELECT _run';
    CREATE FUNCTION run_post() RETURNS void LANGUAGE sql AS '';
    CREATE OR REPLACE FUNCTION message_measure() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`);
  expect(await schemaText(dataSource)).not.toBe(schema);

  await migrate(database.url);
  expect(await schemaText(dataSource)).toBe(schema);
  expect(await recordedMigrations()).toEqual([...MIGRATIONS.map(({ name }) => name), OF_EXTENSION]);
  expect(await dataSource.query('SELECT slug FROM organizations')).toEqual([{ slug: 'kept' }]);
});

it('adds the column of transient threads before their index, which is made while threads are read', async () => {
  const runner = dataSource.createQueryRunner();
  await new TransientThreadsIndex1763700016500().down(runner);
  await new TransientThreads1763700016000().down(runner);
  await new TransientThreads1763700016000().up(runner);
  await runner.startTransaction();
  await new TransientThreadsIndex1763700016500().up(runner);
  const locks: { mode: string }[] = await runner.query(
    `SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'threads'::regclass`,
  );
  await runner.commitTransaction();
  await runner.release();
  expect(locks).toContainEqual({ mode: 'ShareLock' });
  expect(locks).not.toContainEqual({ mode: 'AccessExclusiveLock' });
});

it.each([
  ['messages', MessagesWordsIndex1763700019120],
  ['threads', ThreadsWordsIndex1763700019130],
])('makes the index of the words of %s while they are read', async (table, WordsIndex) => {
  const runner = dataSource.createQueryRunner();
  await new WordsIndex().down(runner);
  await runner.startTransaction();
  await new WordsIndex().up(runner);
  const locks: { mode: string }[] = await runner.query(
    `SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = $1::regclass`,
    [table],
  );
  await runner.commitTransaction();
  await runner.release();
  expect(locks).toContainEqual({ mode: 'ShareLock' });
  expect(locks).not.toContainEqual({ mode: 'AccessExclusiveLock' });
});

it.each([
  ['the last one', REPLACED.slice(0, -1), 'KeptQuotas1763700000760'],
  ['one before others', REPLACED.toSpliced(20, 1), 'UsedSignIns1763700000761'],
  ['all but the first', REPLACED.slice(0, 1), 'Initial1763700000000'],
])('refuses with a sentence a database that lacks %s of them, and leaves it as it is', async (_, names, last) => {
  await recordMigrations([...names, OF_EXTENSION]);
  const error = await migrate(database.url).catch((thrown: unknown) => thrown);
  expect(sentenceFor(error)).toBe(
    `The database has the schema of an earlier development version of Signalbox, up to ${last}. Run ` +
      '`npm run migration:run` of commit 9a645dc on it first, or use an empty database.',
  );
  expect(await recordedMigrations()).toEqual([...names, OF_EXTENSION]);
});
