import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { createTestDatabase } from '../support/database.js';
import { COMPILED } from '../support/service-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIMIT_MS = 240_000;

interface Ended {
  code: number;
  output: string;
}

/** Runs a program of Node.js in the folder of the project; returns its exit code and what it prints. */
function run(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return new Promise((resolve) => {
    const own = {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: COMPILED,
      ENCRYPTION_KEYS: generateEncryptionKey('test'),
      ...env,
    };
    execFile(process.execPath, args, { cwd: ROOT, env: own }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

const migrate = (env: Record<string, string>): Promise<Ended> => run(['dist/boot/migrate.js'], env);

/** As `npm run migration:generate` does, without writing the file. */
const generate = (env: Record<string, string>): Promise<Ended> =>
  run(
    ['node_modules/typeorm/cli.js', 'migration:generate', '-d', 'ormconfig.ts', '--esm', '--dryrun', 'src/next'],
    env,
  );

async function query(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** The schemas and the number of migrations of a database. */
async function stateOf(url: string): Promise<{ schemas: string[]; migrations: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: schemas } = await client.query<{ name: string }>(
      `SELECT DISTINCT table_schema AS name FROM information_schema.tables WHERE table_schema IN ('public', 'bullmq') ORDER BY 1`,
    );
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int FROM migrations');
    return { schemas: schemas.map(({ name }) => name), migrations: rows[0]?.count ?? 0 };
  } finally {
    await client.end();
  }
}

it(
  'the command migrates an empty database, by several processes at once and again',
  async () => {
    const database = await createTestDatabase('template0');
    try {
      const env = { DATABASE_URL: database.url };
      const done = { code: 0, output: 'The database has the newest schema.\n' };
      expect(await Promise.all([migrate(env), migrate(env)])).toEqual([done, done]);
      const state = await stateOf(database.url);
      expect(state.schemas).toEqual(['bullmq', 'public']);
      expect(state.migrations).toBeGreaterThan(0);
      expect(await migrate(env)).toEqual(done);
      expect(await stateOf(database.url)).toEqual(state);
    } finally {
      await database.drop();
    }
  },
  LIMIT_MS,
);

it(
  'the command leaves out the queue if Redis has it',
  async () => {
    const database = await createTestDatabase('template0');
    try {
      expect(await migrate({ DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1' })).toMatchObject({
        code: 0,
      });
      expect((await stateOf(database.url)).schemas).toEqual(['public']);
    } finally {
      await database.drop();
    }
  },
  LIMIT_MS,
);

it(
  'the command fails with one sentence if the database is not there',
  async () => {
    const { code, output } = await migrate({ DATABASE_URL: 'postgres://127.0.0.1:1/none' });
    expect({ code, output }).toEqual({ code: 1, output: 'Cannot connect to the database. Check DATABASE_URL.\n' });
  },
  LIMIT_MS,
);

it(
  'migration:generate has no changes for a migrated database, and writes what another one lacks',
  async () => {
    const database = await createTestDatabase();
    try {
      const env = { DATABASE_URL: database.url };
      expect((await generate(env)).output).toContain('No changes in database schema were found');
      await query(database.url, 'ALTER TABLE webhooks DROP COLUMN url');
      const { code, output } = await generate(env);
      expect(code).toBe(0);
      expect(output).toContain('ALTER TABLE "webhooks" ADD "url"');
    } finally {
      await database.drop();
    }
  },
  LIMIT_MS,
);
