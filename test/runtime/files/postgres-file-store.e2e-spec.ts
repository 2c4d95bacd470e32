import { afterAll, beforeAll, describe } from '@jest/globals';
import { DataSource } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import { PostgresFileStore } from '../../../src/runtime/files/postgres-file-store.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { fileStoreContract } from './file-store.contract.js';

describe('the store in PostgreSQL', () => {
  const organizationId = newId();
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
    await dataSource.query(`INSERT INTO organizations (id, slug, name) VALUES ($1, 'files', 'Files')`, [
      organizationId,
    ]);
  });
  afterAll(async () => {
    await dataSource?.destroy();
    await database?.drop();
  });

  fileStoreContract(() => ({
    store: new PostgresFileStore(dataSource),
    begin: (id) =>
      dataSource.query('INSERT INTO file_contents (id, organization_id) VALUES ($1, $2)', [id, organizationId]),
  }));
});
