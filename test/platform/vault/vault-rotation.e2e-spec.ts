import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { newId } from '../../../src/core/ids.js';
import { generateEncryptionKey, parseEncryptionKeys } from '../../../src/core/config/encryption-keys.js';
import { SEALED_COLUMNS } from '../../../src/platform/vault/sealed-columns.js';
import { rotateColumn } from '../../../src/platform/vault/vault-rotation.js';
import { VaultService } from '../../../src/platform/vault/vault.service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { eventually } from '../../support/eventually.js';

const ORGANIZATION = newId();
const COLUMN = SEALED_COLUMNS.aiProviderApiKey;
const [oldKeys, newKeys] = [
  parseEncryptionKeys(generateEncryptionKey('old')),
  parseEncryptionKeys(generateEncryptionKey('new')),
];
const [before, during, after] = [
  new VaultService(oldKeys),
  new VaultService([...newKeys, ...oldKeys]),
  new VaultService(newKeys),
];

let database: TestDatabase;
let client: Client;
/** Another session, like that of a service that writes concurrently. */
let writer: Client;
/** Outside a transaction, in which PostgreSQL would cache `pg_stat_activity`. */
let observer: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  [client, writer, observer] = await Promise.all([connect(), connect(), connect()]);
  await writer.query(`INSERT INTO organizations (id, slug, name) VALUES ($1, 'default', 'Default')`, [ORGANIZATION]);
});

afterAll(async () => {
  await Promise.all([client, writer, observer].map((session) => session?.end()));
  await database?.drop();
});

beforeEach(() => writer.query('TRUNCATE ai_providers CASCADE'));

describe('rotateColumn', () => {
  it('re-encrypts row by row without changing other columns; a second run changes nothing', async () => {
    const id = await insert('a secret');
    const empty = await insert(null);
    const [row] = await rowsById([id]);

    expect(await rotateColumn(client, during, COLUMN)).toEqual({ resealed: 1, current: 0, unreadable: [] });
    const [rotated] = await rowsById([id]);
    expect(after.open(String(rotated?.['api_key']), COLUMN.contextOf(id))).toBe('a secret');
    expect({ ...rotated, api_key: null }).toEqual({ ...row, api_key: null });
    expect(await rowsById([empty])).toMatchObject([{ api_key: null }]);

    expect(await rotateColumn(client, during, COLUMN)).toEqual({ resealed: 0, current: 1, unreadable: [] });
    expect(await rowsById([id])).toEqual([rotated]);
  });

  it('processes any number of rows, and two concurrent runs share the work', async () => {
    const ids = await Promise.all(Array.from({ length: 450 }, (_, index) => insert(`secret ${index}`)));
    const results = await Promise.all([client, writer].map((session) => rotateColumn(session, during, COLUMN)));
    expect(results.map(({ unreadable }) => unreadable)).toEqual([[], []]);
    expect(results.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(450);
    expect(results.map(({ resealed, current }) => resealed + current)).toEqual([450, 450]);
    const rows = await rowsById(ids);
    const opened = rows.map(({ id, api_key }) => after.open(String(api_key), COLUMN.contextOf(String(id))));
    expect(opened.toSorted()).toEqual(ids.map((_, index) => `secret ${index}`).toSorted());
  });

  it('never overwrites a concurrent change: the newer value wins and is re-encrypted too', async () => {
    const id = await insert('a secret');
    await writer.query('BEGIN');
    await writer.query('UPDATE ai_providers SET api_key = $2 WHERE id = $1', [id, sealed(id, 'a newer secret')]);
    const rotating = rotateColumn(client, during, COLUMN);
    await blocked();
    await writer.query('COMMIT');
    expect(await rotating).toEqual({ resealed: 1, current: 0, unreadable: [] });
    const [row] = await rowsById([id]);
    expect(after.open(String(row?.['api_key']), COLUMN.contextOf(id))).toBe('a newer secret');
  });

  it.each([
    ['deleted', 'DELETE FROM ai_providers WHERE id = $1'],
    ['set to null', 'UPDATE ai_providers SET api_key = NULL WHERE id = $1'],
  ])('does not restore a secret that is concurrently %s', async (_, statement) => {
    const id = await insert('a secret');
    await writer.query('BEGIN');
    await writer.query(statement, [id]);
    const rotating = rotateColumn(client, during, COLUMN);
    await blocked();
    await writer.query('COMMIT');
    expect(await rotating).toEqual({ resealed: 0, current: 0, unreadable: [] });
    expect((await rowsById([id])).filter(({ api_key }) => api_key !== null)).toEqual([]);
  });

  it('reports unreadable envelopes, leaves them unchanged, and continues', async () => {
    const lost = await insert('lost', new VaultService(parseEncryptionKeys(generateEncryptionKey('gone'))));
    const plain = await insert(null);
    await writer.query(`UPDATE ai_providers SET api_key = 'in the clear' WHERE id = $1`, [plain]);
    const moved = await insert(null);
    await writer.query('UPDATE ai_providers SET api_key = $2 WHERE id = $1', [moved, sealed(lost, 'of another row')]);
    const reused = await insert('reused', new VaultService(parseEncryptionKeys(generateEncryptionKey('new'))));
    const good = await insert('a secret');
    const stored = await rowsById([lost, plain, moved, reused]);

    const { unreadable, ...counts } = await rotateColumn(client, during, COLUMN);
    expect(counts).toEqual({ resealed: 1, current: 0 });
    expect(unreadable.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
      [
        { id: lost, missingKeyId: 'gone' },
        { id: plain, missingKeyId: undefined },
        { id: moved, missingKeyId: undefined },
        { id: reused, missingKeyId: undefined },
      ].toSorted((a, b) => a.id.localeCompare(b.id)),
    );
    expect(await rowsById([lost, plain, moved, reused])).toEqual(stored);
    const [row] = await rowsById([good]);
    expect(after.open(String(row?.['api_key']), COLUMN.contextOf(good))).toBe('a secret');
  });
});

async function connect(): Promise<Client> {
  const session = new Client({ connectionString: database.url });
  await session.connect();
  return session;
}

function sealed(id: string, secret: string, vault = before): string {
  return vault.seal(secret, COLUMN.contextOf(id));
}

async function insert(secret: string | null, vault = before): Promise<string> {
  const id = newId();
  await writer.query(
    `INSERT INTO ai_providers (id, organization_id, title, kind, api_key, created_at, updated_at)
     VALUES ($1, $2, 'Provider', 'openai', $3, now() - interval '1 day', now() - interval '1 day')`,
    [id, ORGANIZATION, secret === null ? null : sealed(id, secret, vault)],
  );
  return id;
}

async function rowsById(ids: string[]): Promise<Record<string, unknown>[]> {
  const { rows } = await writer.query('SELECT * FROM ai_providers WHERE id = ANY($1) ORDER BY id', [ids]);
  return rows;
}

/** Waits until the rotation is blocked by the lock of the other session. */
async function blocked(): Promise<void> {
  const query = `SELECT count(*)::int AS waiting FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await eventually(async () => expect((await observer.query(query)).rows).toEqual([{ waiting: 1 }]));
}
