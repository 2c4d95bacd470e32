import { afterEach, describe, expect, it } from '@jest/globals';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { Ratings1764000000000 } from '../../examples/extension/ratings/1764000000000-ratings.js';
import { RatingsModule } from '../../examples/extension/ratings/ratings.module.js';
import { openStorage } from '../../src/boot/storage.js';
import { readSettings } from '../../src/core/config/settings.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { openCliDataSource } from '../../src/platform/database/cli-data-source.js';
import { dataSourceOptions } from '../../src/platform/database/data-source-options.js';
import { MIGRATIONS } from '../../src/platform/database/migrations.js';
import { startTestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const RATINGS = Ratings1764000000000.name;

/** Older than the migration of the extension. */
class Late1763900000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('CREATE TABLE late (id uuid PRIMARY KEY)');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE late');
  }
}

let database: TestDatabase | undefined;
afterEach(() => database?.drop());

/** As the start of the service does. */
async function migrateAtStart({ url }: TestDatabase): Promise<void> {
  const env = { DATABASE_URL: url, ENCRYPTION_KEYS: generateEncryptionKey('test'), LOG_LEVEL: 'silent' };
  const storage = await openStorage(readSettings(env), () => undefined);
  await storage.stop();
}

async function query<Row>({ url }: TestDatabase, statement: string): Promise<Row[]> {
  const dataSource = await new DataSource(dataSourceOptions(url)).initialize();
  try {
    return await dataSource.query(statement);
  } finally {
    await dataSource.destroy();
  }
}

const migrationsOf = async (of: TestDatabase): Promise<string[]> => {
  const rows = await query<{ name: string }>(of, 'SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
};

describe('the migration of an extension', () => {
  it('runs at the start on an empty database, after those of the service that are older', async () => {
    database = await createTestDatabase('template0');
    await migrateAtStart(database);
    const names = await migrationsOf(database);
    expect(names).toHaveLength(MIGRATIONS.length + 1);
    expect(names.at(-1)).toBe(RATINGS);
  });

  it('runs at the start on the database of a service that did not have the extension, and only once', async () => {
    database = await createTestDatabase();
    expect(await migrationsOf(database)).not.toContain(RATINGS);
    await migrateAtStart(database);
    await migrateAtStart(database);
    expect((await migrationsOf(database)).filter((name) => name === RATINGS)).toHaveLength(1);
    expect(await query(database, 'SELECT * FROM ratings')).toEqual([]);
  });

  it('does not keep a migration of the service from running that is older and comes later', async () => {
    database = await createTestDatabase();
    await migrateAtStart(database);
    const options = dataSourceOptions(database.url);
    const migrations = [...MIGRATIONS, Late1763900000000, Ratings1764000000000];
    const dataSource = await new DataSource({ ...options, migrations }).initialize();
    try {
      const ran = await dataSource.runMigrations({ transaction: 'each' });
      expect(ran.map(({ name }) => name)).toEqual([Late1763900000000.name]);
    } finally {
      await dataSource.destroy();
    }
  });

  it('runs on the command line', async () => {
    database = await createTestDatabase();
    const before = process.env['DATABASE_URL'];
    process.env['DATABASE_URL'] = database.url;
    process.env['ENCRYPTION_KEYS'] = generateEncryptionKey('test');
    try {
      const dataSource = await (await openCliDataSource()).initialize();
      const ran = await dataSource.runMigrations({ transaction: 'all' });
      await dataSource.destroy();
      expect(ran.map(({ name }) => name)).toEqual([RATINGS]);
    } finally {
      delete process.env['ENCRYPTION_KEYS'];
      if (before === undefined) delete process.env['DATABASE_URL'];
      else process.env['DATABASE_URL'] = before;
    }
  });
});

describe('the entity of an extension', () => {
  it('is part of the data source, and agrees with its migration', async () => {
    database = await createTestDatabase();
    await migrateAtStart(database);
    const service = await startTestApp({ database, modules: [RatingsModule] });
    try {
      const dataSource = service.app.get(DataSource);
      expect(dataSource.entityMetadatas.map(({ tableName }) => tableName)).toContain('ratings');
      expect((await dataSource.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
    } finally {
      await service.close();
    }
  });
});
