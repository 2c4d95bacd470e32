import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'pg';
import { PipelinedConnections } from '../../../src/core/pipelined-connections.js';
import { retry } from '../../../src/core/retry.js';
import { toDomainError } from '../../../src/core/to-domain-error.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

const ECHO = { name: 'pipelined_echo', text: 'SELECT $1::int AS n, pg_backend_pid() AS pid' };
const SLEEP = { name: 'pipelined_sleep', text: 'SELECT pg_sleep($1)' };

interface Echo {
  n: number;
  pid: number;
}

let database: TestDatabase;
let proxy: TcpProxy;
let connections: PipelinedConnections;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy(database.url);
  connections = open(5_000);
});

afterEach(async () => {
  await connections.end();
  await proxy.close();
  await database.drop();
});

function open(answerWithinMs: number): PipelinedConnections {
  const connectionString = through(proxy, database.url);
  return new PipelinedConnections({
    config: { connectionString, connectionTimeoutMillis: answerWithinMs, query_timeout: answerWithinMs },
    connections: 2,
    onConnect: (client) => client.query(`SET application_name = 'pipelined'`),
  });
}

const echo = async (n: number): Promise<Echo> => {
  const { rows } = await connections.query<Echo>({ ...ECHO, values: [n] });
  return rows[0] as Echo;
};

it('gives each of many concurrent statements its own result, on two connections', async () => {
  const numbers = Array.from({ length: 500 }, (_, n) => n);
  const results = await Promise.all(numbers.map(echo));
  expect(results.map(({ n }) => n)).toEqual(numbers);
  expect(new Set(results.map(({ pid }) => pid)).size).toBe(2);
  expect(proxy.connections()).toBe(2);
});

it('prepares each connection before its first statement', async () => {
  await Promise.all([echo(1), echo(2)]);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT count(*)::int AS prepared FROM pg_stat_activity WHERE application_name = 'pipelined' AND datname = current_database()`,
  );
  await client.end();
  expect(rows).toEqual([{ prepared: 2 }]);
});

it('rejects a wrong statement alone', async () => {
  const wrong = { name: 'pipelined_wrong', text: 'SELECT 1 / $1::int' };
  const outcomes = await Promise.allSettled([
    echo(1),
    connections.query({ ...wrong, values: [0] }),
    connections.query({ ...wrong, values: [0] }),
    echo(2),
    echo(3),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled']);
  expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: '22012' });
});

it('rejects the statements of a lost connection as an outage, and replaces the connection', async () => {
  await Promise.all([echo(1), echo(2)]);
  const waiting = Promise.allSettled([
    connections.query({ ...SLEEP, values: [60] }),
    connections.query({ ...SLEEP, values: [60] }),
    echo(3),
  ]);
  await nextTurn();
  await proxy.cut();
  for (const outcome of await waiting) {
    expect(toDomainError((outcome as PromiseRejectedResult).reason).code).toBe('storage_unavailable');
  }
  await expect(echo(4).catch((error: unknown) => toDomainError(error).code)).resolves.toBe('storage_unavailable');
  await proxy.restore();
  await expect(echo(5)).resolves.toMatchObject({ n: 5 });
});

it('gives up a connection that does not answer, with all of its statements', async () => {
  const impatient = open(300);
  /** Opening a connection can take longer than that. */
  const answered = (n: number): Promise<{ rows: Echo[] }> =>
    retry(() => impatient.query<Echo>({ ...ECHO, values: [n] }), {
      isRetryable: (error) => toDomainError(error).code === 'storage_unavailable',
      giveUpAfterMs: 10_000,
    });
  expect(await answered(1)).toMatchObject({ rows: [{ n: 1 }] });
  proxy.freeze();
  const outcomes = await Promise.allSettled([1, 2, 3].map((n) => impatient.query({ ...ECHO, values: [n] })));
  for (const outcome of outcomes) {
    expect(toDomainError((outcome as PromiseRejectedResult).reason).code).toBe('storage_unavailable');
  }
  // It closes all connections, also one that is being opened.
  proxy.thaw();
  expect(await answered(4)).toMatchObject({ rows: [{ n: 4 }] });
  await impatient.end();
});

it('answers what was asked before the end, and nothing after it', async () => {
  const asked = [echo(1), echo(2)];
  await Promise.all(asked);
  const last = Promise.all([echo(3), echo(4)]);
  await Promise.all([connections.end(), expect(last).resolves.toMatchObject([{ n: 3 }, { n: 4 }])]);
  await expect(echo(5)).rejects.toThrow();
});
