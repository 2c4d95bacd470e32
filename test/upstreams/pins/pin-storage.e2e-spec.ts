import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource, type Repository } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import type { ConnectionEntity } from '../../../src/connections/connection.entity.js';
import { ConnectionChanges } from '../../../src/connections/connection-changes.js';
import { ConnectionRepository } from '../../../src/connections/connection.repository.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import type { LongReads } from '../../../src/platform/database/long-reads.js';
import type { PinnedToolEntity } from '../../../src/upstreams/pins/pinned-tool.entity.js';
import { PinnedToolRepository } from '../../../src/upstreams/pins/pinned-tool.repository.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { BAD, GOOD, OTHER, toolNamed } from './pins.support.js';

type Tool = typeof GOOD;

/** More than one list can have. */
const MANY = 10_000;
const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;
let dataSource: DataSource;
let pinned: PinnedToolRepository;
let connections: ConnectionRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource(dataSourceOptions(database.url)).initialize();
  // Without entities: both send statements of their own.
  const statements = { manager: dataSource.manager, query: dataSource.query.bind(dataSource) };
  pinned = new PinnedToolRepository(statements as unknown as Repository<PinnedToolEntity>);
  connections = new ConnectionRepository(
    statements as unknown as Repository<ConnectionEntity>,
    new ConnectionChanges(),
    {} as LongReads,
  );
});
afterAll(async () => {
  await dataSource?.destroy();
  await database?.drop();
});

/** A connection that blocks, and has approved these tools. */
class Pinned {
  readonly id = newId();
  readonly organizationId = newId();

  static async with(...tools: Tool[]): Promise<Pinned> {
    const made = new Pinned();
    const { id, organizationId } = made;
    await dataSource.query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [
      organizationId,
      organizationId,
    ]);
    await dataSource.query(
      `INSERT INTO connections (id, organization_id, connection_type, title, pin) VALUES ($1, $2, 'HTTP', 'x', 'block')`,
      [id, organizationId],
    );
    await made.list(tools);
    return made;
  }

  async list(tools: readonly Tool[]): Promise<void> {
    await pinned.recordList(this, tools, new Set(tools.map(({ name }) => name)), true);
  }

  /** What one query of its definitions returns. */
  async count(expression: string): Promise<number> {
    const [row] = await dataSource.query(
      `SELECT (${expression})::integer AS n FROM pinned_tools WHERE connection_id = $1`,
      [this.id],
    );
    return row.n;
  }
}

const manyTools = (prefix: string, count: number, more: Partial<Tool> = {}): Tool[] =>
  Array.from({ length: count }, (_, index) => toolNamed(`${prefix}${index}`, more));

describe('definitions that are not approved', () => {
  it('are listed up to 10,000 of a connection: those of approved tools stay, and then the newest', async () => {
    const connection = await Pinned.with(GOOD, OTHER);
    await connection.list([BAD, ...manyTools('first', 6_000)]);
    const newest = manyTools('second', 6_000);
    await connection.list(newest);
    expect(await connection.count('count(*) FILTER (WHERE approved_at IS NULL AND is_listed)')).toBe(10_000);
    const state = await pinned.findState(connection.id);
    expect(state?.withholds('echo')).toBe(true);
    expect(newest.filter(({ name }) => state?.withholds(name) !== true)).toEqual([]);
    expect(await connection.count('count(*) FILTER (WHERE approved_at IS NOT NULL)')).toBe(2);
  });

  it('take 64 MiB of a connection as JSON text, however well it compresses', async () => {
    const connection = await Pinned.with(GOOD);
    const description = 'a'.repeat(MEBIBYTE);
    for (let list = 0; list < 9; list++) await connection.list(manyTools(`list${list}-`, 8, { description }));
    const stored = await connection.count(
      'sum(octet_length(definition::text) + octet_length(tool_name)) FILTER (WHERE approved_at IS NULL)',
    );
    expect(stored).toBeGreaterThan(56 * MEBIBYTE);
    expect(stored).toBeLessThanOrEqual(64 * MEBIBYTE);
  });

  it('give way to others of their name when only those are recorded', async () => {
    const connection = await Pinned.with(GOOD, OTHER);
    const unlisted = { ...OTHER, description: 'Changed' };
    await connection.list([BAD, unlisted]);
    await pinned.recordList(connection, [GOOD, unlisted], new Set(['echo']), true);
    const state = await pinned.findState(connection.id);
    expect([state?.withholds('echo'), state?.withholds('other')]).toEqual([false, true]);
  });
});

describe('a list of 10,000 tools that all change', () => {
  const before = manyTools('tool', MANY);
  const after = [...manyTools('tool', MANY - 1, { description: 'Changed' }), toolNamed('added')];

  it('is reported in one message', async () => {
    const connection = await Pinned.with(...before);
    // The session plans the report anew, as if no list were long.
    await dataSource.query('ANALYZE pinned_tools');
    await Pinned.with(toolNamed('one'));
    await dataSource.query(
      `INSERT INTO webhooks (id, organization_id, url, events, secret) VALUES ($1, $2, 'x', '["tools.changed"]', 'x')`,
      [newId(), connection.organizationId],
    );
    await connection.list(after);
    const [delivery, ...others] = await dataSource.query(
      'SELECT body::json AS body FROM webhook_deliveries WHERE organization_id = $1',
      [connection.organizationId],
    );
    expect(others).toEqual([]);
    const { total, tools } = delivery.body.data;
    expect({ total, tools: tools.length }).toEqual({ total: MANY, tools: 100 });
    expect(tools.slice(0, 2)).toMatchObject([
      { name: 'added', status: 'new' },
      { name: 'tool0', status: 'changed' },
    ]);
  });

  it('leaves the names whose definition is approved, and none while nothing is', async () => {
    const connection = await Pinned.with(...before);
    await connection.list(after.slice(5_000));
    await dataSource.query('UPDATE connections SET tools = $2 WHERE id = $1', [connection.id, JSON.stringify(before)]);
    const namesOf = async () =>
      (await connections.findToolNames([connection.id])).get(connection.id)?.map(({ name }) => name);
    expect(await namesOf()).toEqual([...before.slice(0, 5_000), ...before.slice(-1)].map(({ name }) => name));
    await dataSource.query('UPDATE connections SET pinned_at = NULL WHERE id = $1', [connection.id]);
    expect(await namesOf()).toEqual([]);
    await dataSource.query(`UPDATE connections SET pin = 'warn' WHERE id = $1`, [connection.id]);
    expect(await namesOf()).toHaveLength(MANY);
  });
});
