import { expect, it } from '@jest/globals';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { startDataSource } from '../../support/data-source.js';
import { useStarted } from '../../support/use-started.js';
import { schemaText } from './schema-text.js';

const DATABASE_FOLDER = new URL('../../../src/platform/database/', import.meta.url);
const SNAPSHOT = new URL('schema.sql', DATABASE_FOLDER);
const HEAD = `-- The schema of an empty database after all migrations, to read. What the functions do is in functions/.
-- Written by \`UPDATE_SCHEMA=1 npm test -- schema-snapshot --selectProjects e2e\`.

`;

const own = useStarted(startDataSource);

it('schema.sql is the schema after all migrations', async () => {
  const text = HEAD + (await schemaText(own.dataSource));
  if (process.env['UPDATE_SCHEMA'] !== undefined) await writeFile(SNAPSHOT, text);
  expect(text).toBe(await readFile(SNAPSHOT, 'utf8'));
});

it('the functions of the database are those in functions/, each as its file has it', async () => {
  const before = await schemaText(own.dataSource);
  const files = await readdir(new URL('functions/', DATABASE_FOLDER));
  for (const file of files)
    await own.dataSource.query(await readFile(new URL(`functions/${file}`, DATABASE_FOLDER), 'utf8'));
  expect(await schemaText(own.dataSource)).toBe(before);
  const rows: { name: string }[] = await own.dataSource.query(
    `SELECT proname || '.sql' AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual(files.toSorted());
});
