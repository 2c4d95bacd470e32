import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { MAX_WAITING } from '../../../src/platform/database/bounded-pool.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

const CONNECTIONS = 20;
const TOO_MANY = 500;
/** Longer than a statement waits for a connection. */
const TOO_LONG_MS = 4_000;

let database: TestDatabase;
let relay: TcpProxy;
let source: DataSource;

beforeEach(async () => {
  database = await createTestDatabase();
  relay = await startTcpProxy(database.url);
  source = await new DataSource(dataSourceOptions(through(relay, database.url))).initialize();
});

afterEach(async () => {
  await source?.destroy();
  await relay?.close();
  await database?.drop();
});

const select = (): Promise<unknown> => source.query('SELECT 1 AS one');

const runners = (): QueryRunner[] => Array.from({ length: CONNECTIONS }, () => source.createQueryRunner());
const take = (all: QueryRunner[]): Promise<unknown> => Promise.all(all.map((runner) => runner.connect()));
const release = (all: QueryRunner[]): Promise<unknown> => Promise.all(all.map((runner) => runner.release()));

describe('a pool whose database has stopped responding', () => {
  it('refuses at once what exceeds the limit, rejects what waited, and works again afterwards', async () => {
    // Without open connections, statements would wait for the connections to be opened.
    const opened = runners();
    await take(opened);
    await release(opened);
    relay.freeze();
    const outcomes: unknown[] = [];
    const start = (count: number): Promise<unknown>[] =>
      Array.from({ length: count }, () => select().catch((error: unknown) => outcomes.push(error)));
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
    expect(await select()).toEqual([{ one: 1 }]);
  });
});

describe('statements that wait for a connection', () => {
  it('get one that becomes free while others cannot be opened', async () => {
    relay.delay(TOO_LONG_MS);
    const answers = await Promise.all(Array.from({ length: CONNECTIONS }, select));
    expect(answers).toEqual(Array.from({ length: CONNECTIONS }, () => [{ one: 1 }]));
  });

  it('are not refused because their process was stopped for a while', async () => {
    const held = runners();
    const opening = take(held);
    const waiting = select();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TOO_LONG_MS);
    await opening;
    await release(held);
    expect(await waiting).toEqual([{ one: 1 }]);
  });

  it('are refused when no connection becomes free', async () => {
    const held = runners();
    await take(held);
    await expect(select()).rejects.toThrow('timeout exceeded when trying to connect');
    await release(held);
    expect(await select()).toEqual([{ one: 1 }]);
  });
});
