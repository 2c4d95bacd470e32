import { beforeAll, describe } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import { PostgresFileStore } from '../../../src/runtime/files/postgres-file-store.js';
import { startDataSource } from '../../support/data-source.js';
import { useStarted } from '../../support/use-started.js';
import { fileStoreContract } from './file-store.contract.js';

describe('the store in PostgreSQL', () => {
  const organizationId = newId();
  const own = useStarted(startDataSource);
  beforeAll(() =>
    own.dataSource.query(`INSERT INTO organizations (id, slug, name) VALUES ($1, 'files', 'Files')`, [organizationId]),
  );

  fileStoreContract(() => ({
    store: new PostgresFileStore(own.dataSource),
    begin: (id) =>
      own.dataSource.query('INSERT INTO file_contents (id, organization_id) VALUES ($1, $2)', [id, organizationId]),
  }));
});
