import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';

/** A database of its own for one spec file. */
export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** The template that the global set-up has migrated. */
export const TEMPLATE_DATABASE = 'signalbox_template';

/**
 * A new database on the test server: a copy of the migrated template, made in a few milliseconds. `template0` is
 * PostgreSQL's own empty one.
 */
export async function createTestDatabase(template: string = TEMPLATE_DATABASE): Promise<TestDatabase> {
  const server = testServerUrl();
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying files takes a third of the time of copying pages through the log.
  await onServer(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

/** Runs statements on the database of a service, over connections that open on demand and are few. */
export function openQueries(url: string): {
  query<Row>(statement: string, parameters?: unknown[]): Promise<Row[]>;
  end(): Promise<void>;
} {
  const pool = new Pool({ connectionString: url, max: 4 });
  // Specs cut idle connections. A statement opens another one.
  pool.on('error', () => undefined);
  return {
    query: async <Row>(statement: string, parameters: unknown[] = []) =>
      (await pool.query(statement, parameters)).rows as Row[],
    end: () => pool.end(),
  };
}

function testServerUrl(): string {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('TEST_DATABASE_URL is set by the global set-up of the e2e project.');
  return url;
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
