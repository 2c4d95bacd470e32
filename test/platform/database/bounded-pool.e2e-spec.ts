import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { MAX_WAITING, dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

const CONNECTIONS = 20;
const TOO_MANY = 500;

let database: TestDatabase;
let relay: TcpProxy;
let source: DataSource;

beforeAll(async () => {
  database = await createTestDatabase();
  relay = await startTcpProxy(database.url);
  source = await new DataSource(dataSourceOptions(through(relay, database.url))).initialize();
});

afterAll(async () => {
  await source?.destroy();
  await relay?.close();
  await database?.drop();
});

describe('a pool whose database has stopped responding', () => {
  it('refuses at once what exceeds the limit, rejects what waited, and works again afterwards', async () => {
    // Without open connections, statements would wait for the connections to be opened.
    await Promise.all(Array.from({ length: CONNECTIONS }, () => source.query('SELECT pg_sleep(0.1)')));
    relay.freeze();
    const outcomes: unknown[] = [];
    const start = (count: number): Promise<unknown>[] =>
      Array.from({ length: count }, () => source.query('SELECT 1').catch((error: unknown) => outcomes.push(error)));
    const running = start(CONNECTIONS);
    // They get their connections in the next turn.
    await new Promise(setImmediate);
    const waiting = start(MAX_WAITING);
    await Promise.all(start(TOO_MANY));
    expect(outcomes).toHaveLength(TOO_MANY);
    for (const refused of outcomes) expect(refused).toMatchObject({ code: 'storage_unavailable', status: 503 });

    await Promise.all(waiting);
    expect(outcomes).toHaveLength(TOO_MANY + MAX_WAITING);
    relay.thaw();
    await Promise.all(running);
    expect(await source.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
