import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { AUDIT_APPLICATION_NAME, AuditConnection } from '../../src/audit/audit-connection.js';
import { AuditLog } from '../../src/audit/audit-log.js';
import type { InvocationFacts, InvocationOutcome } from '../../src/audit/audit-record.js';
import { AuditWriter, type AuditWriterLog } from '../../src/audit/audit-writer.js';
import { CallsInFlight } from '../../src/audit/calls-in-flight.js';
import { copyLine } from '../../src/audit/copy-line.js';
import { AuditModule } from '../../src/audit/audit.module.js';
import { newId } from '../../src/common/ids.js';
import { AppConfig } from '../../src/config/app-config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { generateEncryptionKey } from '../../src/config/encryption-keys.js';
import { readSettings } from '../../src/config/settings.js';
import { DatabaseModule } from '../../src/database/database.module.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';

const SUCCESS: InvocationOutcome = { status: 'success', errorCode: null, durationMs: 1.5 };

const factsOf = (requestId: string, more: Partial<InvocationFacts> = {}): InvocationFacts => ({
  organizationId: newId(),
  entryPoint: 'proxy',
  connectionId: newId(),
  agentId: null,
  toolName: 'echo',
  userId: null,
  apiKeyId: null,
  runId: null,
  requestId,
  public: true,
  ...more,
});

const logInto = (errors: object[]): AuditWriterLog => ({
  warn: () => undefined,
  error: (facts) => errors.push(facts),
});

let database: TestDatabase;
/** Between the service and its database. */
let proxy: TcpProxy;
/** The database behind the proxy. */
let url: string;
let service: INestApplicationContext;
let audit: AuditLog;
/** A direct connection to the database. */
let witness: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy(database.url);
  url = through(proxy, database.url);
  const settings = readSettings({ DATABASE_URL: url, ENCRYPTION_KEYS: generateEncryptionKey('test') });
  const config = new AppConfig(settings, { databaseUrl: url, encryptionKeys: [] });
  const imports = [ConfigModule.forRoot(config), DatabaseModule, AuditModule];
  service = await (await Test.createTestingModule({ imports }).compile()).init();
  audit = service.get(AuditLog, { strict: false });
  witness = new Client({ connectionString: database.url });
  await witness.connect();
});

afterAll(async () => {
  await witness?.end();
  await service?.close();
  await proxy?.close();
  await database?.drop();
});

async function countOf(requestId: string): Promise<number> {
  const { rows } = await witness.query('SELECT count(*)::int AS n FROM audit_records WHERE request_id = $1', [
    requestId,
  ]);
  return rows[0].n as number;
}

async function connectionsOfAudit(): Promise<number> {
  const { rows } = await witness.query(
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
    [AUDIT_APPLICATION_NAME],
  );
  return rows[0].n as number;
}

async function eventually(what: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 15_000;
  while (!(await what())) {
    if (Date.now() > giveUpAt) throw new Error('Timed out waiting for the condition.');
    await sleep(20);
  }
}

describe('the audit log', () => {
  it('has stored the record when `close` resolves, also for consecutive calls', async () => {
    for (let n = 1; n <= 20; n++) {
      await audit.openEntry(factsOf('one-by-one')).close(SUCCESS);
      expect(await countOf('one-by-one')).toBe(n);
    }
  });

  it('contains exactly one record for each of 1000 concurrent invocations', async () => {
    const entries = Array.from({ length: 1000 }, () => audit.openEntry(factsOf('at-once')));
    await Promise.all(entries.map((entry) => entry.close(SUCCESS)));
    expect(await countOf('at-once')).toBe(1000);
  });

  it('records an invocation once when it is closed repeatedly', async () => {
    const entry = audit.openEntry(factsOf('twice'));
    await Promise.all([entry.close(SUCCESS), entry.close({ status: 'error', errorCode: 'internal', durationMs: 9 })]);
    await entry.close(SUCCESS);
    expect(await countOf('twice')).toBe(1);
  });

  it('stores hostile input as data, without affecting other records', async () => {
    const names = ['a\tb\nc\rd', '\\N', '\\.', 'NUL\0', '\ud800', '😀'.repeat(300), "'; DROP TABLE audit_records; --"];
    const entries = [...names, 'harmless'].map((toolName) => audit.openEntry(factsOf('hostile', { toolName })));
    await Promise.all(entries.map((entry) => entry.close(SUCCESS)));
    const { rows } = await witness.query(
      `SELECT tool_name FROM audit_records WHERE request_id = 'hostile' ORDER BY id`,
    );
    const kept = ['a\tb\nc\rd', '\\N', '\\.', 'NUL', '\ufffd', '😀'.repeat(128), "'; DROP TABLE audit_records; --"];
    expect(rows.map((row) => row.tool_name as string)).toEqual([...kept, 'harmless']);
  });

  it('stores arbitrary content without affecting other records', async () => {
    const texts = [
      'a\tb\nc\rd\\',
      '\\N',
      '\\.',
      'NUL\0',
      '\ud800',
      '\udc00\ud800',
      '\\u0000',
      '"}',
      '\u007f\u0001\ufffe',
    ];
    const others = [
      1e308,
      5e-324,
      -0,
      2 ** 53,
      Number.NaN,
      10n,
      true,
      null,
      undefined,
      [],
      {},
      [undefined],
      { a: undefined },
    ];
    const deep = '['.repeat(5000) + ']'.repeat(5000);
    const contents = [
      ...texts,
      ...texts.map((text) => JSON.stringify({ [text]: [text] })),
      ...texts.map((text) => ({ [text]: { text } })),
      ...others,
      JSON.parse('{"__proto__": {"a": 1}, "a": 1e999}') as unknown,
      JSON.parse(deep) as unknown,
      deep,
      { text: '\0'.repeat(1_000_000) },
      Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key ${n}`, n])),
    ];
    const entries = contents.map((carried) => ({
      entry: audit.openEntry(factsOf('carried', { content: { arguments: carried } })),
      outcome: { ...SUCCESS, result: carried },
    }));
    entries.push({ entry: audit.openEntry(factsOf('carried')), outcome: { ...SUCCESS, result: 'not recorded' } });
    await Promise.all(entries.map(({ entry, outcome }) => entry.close(outcome)));
    const { rows } = await witness.query(
      `SELECT arguments, result, octet_length(arguments::text) AS length FROM audit_records WHERE request_id = 'carried' ORDER BY id`,
    );
    expect(rows).toHaveLength(contents.length + 1);
    expect(rows.at(-1)).toEqual({ arguments: null, result: null, length: null });
    expect(Math.max(...rows.slice(0, -1).map((row) => row.length as number))).toBeLessThanOrEqual(17 * 1024);
    expect(rows.slice(0, 6).map((row) => row.result as string)).toEqual([
      ...texts.slice(0, 3),
      'NUL\ufffd',
      '\ufffd',
      '\ufffd\ufffd',
    ]);
    expect(rows.slice(-6, -1).map((row) => row.arguments as object)).toEqual([
      { ['__proto__']: { a: 1 }, a: null },
      expect.objectContaining({ truncated: true }),
      { truncated: true, bytes: 10_002 },
      { truncated: true, bytes: 6_000_011 },
      { truncated: true, bytes: expect.any(Number) },
    ]);
  });
});

describe('while an invocation is in progress', () => {
  /** The wait event of the audit connection's backend. An open statement waits in `ClientRead` while `active`. */
  const stateOf = async (): Promise<string> => {
    const { rows } = await witness.query(
      `SELECT state || ' ' || coalesce(wait_event, '') AS state FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1`,
      [AUDIT_APPLICATION_NAME],
    );
    return String(rows[0]?.state);
  };

  /** An invocation whose statement the database has started. */
  const awaited = async (requestId: string) => {
    for (;;) {
      await audit.openEntry(factsOf('before')).close(SUCCESS);
      const entry = audit.openEntry(factsOf(requestId));
      await nextTurn();
      await nextTurn();
      if ((await stateOf()) === 'active ClientRead') return entry;
    }
  };

  it('the database keeps a statement open for its record, for a limited time', async () => {
    const entry = await awaited('awaited');
    await eventually(async () => (await stateOf()) === 'idle ClientRead');
    await entry.close(SUCCESS);
    expect(await countOf('awaited')).toBe(1);
  });

  it('a record uses the open statement', async () => {
    for (let n = 1; n <= 20; n++) {
      const entry = await awaited('ready');
      await entry.close(SUCCESS);
      expect(await countOf('ready')).toBe(n);
    }
  });

  it('no record is lost with the connection or the statement', async () => {
    const ends = [
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = '${AUDIT_APPLICATION_NAME}'`,
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = '${AUDIT_APPLICATION_NAME}'`,
    ];
    for (const end of ends) {
      const entry = await awaited('ended');
      await witness.query(end);
      await entry.close(SUCCESS);
    }
    expect(await countOf('ended')).toBe(ends.length);
  });

  it('closing does not wait for it', async () => {
    const connection = new AuditConnection(url);
    await connection.copy(copyLine(newId(), new Date().toISOString(), factsOf('closed'), SUCCESS));
    connection.prepare();
    const connections = await connectionsOfAudit();
    await connection.end();
    expect(await countOf('closed')).toBe(1);
    await eventually(async () => (await connectionsOfAudit()) === connections - 1);
  });
});

describe('while the database is unavailable', () => {
  it('callers wait, and every record is written once after recovery', async () => {
    await audit.openEntry(factsOf('before')).close(SUCCESS);
    const closing = Array.from({ length: 200 }, () => audit.openEntry(factsOf('cut')).close(SUCCESS));
    await proxy.cut();
    closing.push(...Array.from({ length: 200 }, () => audit.openEntry(factsOf('cut')).close(SUCCESS)));
    await sleep(300);
    await proxy.restore();
    await Promise.all(closing);
    expect(await countOf('cut')).toBe(400);
  });

  it('a record is not written twice when the reply is lost', async () => {
    await audit.openEntry(factsOf('before')).close(SUCCESS);
    const locker = new Client({ connectionString: database.url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE audit_records IN EXCLUSIVE MODE');
    const closing = Promise.all(
      Array.from({ length: 50 }, () => audit.openEntry(factsOf('lost-answer')).close(SUCCESS)),
    );
    const blocked = `SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'
                      AND datname = current_database()`;
    await eventually(async () => (await witness.query(blocked, [AUDIT_APPLICATION_NAME])).rowCount === 1);
    // The server has the statement and does not know that its client is gone: it commits.
    await proxy.cut();
    await proxy.restore();
    await eventually(async () => (await witness.query(blocked, [AUDIT_APPLICATION_NAME])).rowCount === 2);
    await locker.end();
    await closing;
    expect(await countOf('lost-answer')).toBe(50);
  });

  it('new invocations are rejected beyond the limit, and no accepted record is lost', async () => {
    await audit.openEntry(factsOf('before')).close(SUCCESS);
    await proxy.cut();
    const begun = Array.from({ length: 20_000 }, () => audit.openEntry(factsOf('full')));
    const closing = begun.map((entry) => entry.close(SUCCESS).catch(() => undefined));
    expect(() => audit.openEntry(factsOf('full'))).toThrow(expect.objectContaining({ code: 'storage_unavailable' }));
    await proxy.restore();
    await Promise.all(closing);
    await eventually(async () => (await countOf('full')) === 20_000);
    await audit.openEntry(factsOf('after')).close(SUCCESS);
  });

  it('new invocations are rejected beyond the memory limit for content', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 30_000, waitMs: 60_000, flushWithinMs: 200 };
    const writer = new AuditWriter(new AuditConnection(url), new CallsInFlight(), logInto([]), limits);
    const content = { arguments: { text: 'x'.repeat(16_000) } };
    const write = (): Promise<void> =>
      writer.write(copyLine(newId(), new Date().toISOString(), factsOf('heavy', { content }), SUCCESS));
    await proxy.cut();
    const waiting = [write()];
    expect(writer.hasCapacity).toBe(true);
    waiting.push(write());
    expect(writer.hasCapacity).toBe(false);
    await proxy.restore();
    await Promise.all(waiting);
    await eventually(async () => writer.hasCapacity);
    await writer.close();
  });

  it('callers time out, and the record is written nevertheless', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 10_000, waitMs: 200, flushWithinMs: 5000 };
    const writer = new AuditWriter(new AuditConnection(url), new CallsInFlight(), logInto([]), limits);
    await proxy.cut();
    const line = copyLine(newId(), new Date().toISOString(), factsOf('late'), SUCCESS);
    await expect(writer.write(line)).rejects.toMatchObject({ code: 'storage_unavailable', status: 503 });
    await proxy.restore();
    await eventually(async () => (await countOf('late')) === 1);
    await writer.close();
  });

  it('closing times out', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 10_000, waitMs: 60_000, flushWithinMs: 200 };
    const errors: object[] = [];
    const writer = new AuditWriter(new AuditConnection(url), new CallsInFlight(), logInto(errors), limits);
    await proxy.cut();
    const written = writer.write(copyLine(newId(), new Date().toISOString(), factsOf('given-up'), SUCCESS));
    const refused = expect(written).rejects.toMatchObject({ code: 'storage_unavailable' });
    await writer.close();
    await refused;
    expect(errors).toEqual([expect.objectContaining({ code: 'storage_unavailable', records: 1 })]);
    await proxy.restore();
  });
});

describe('when the service closes', () => {
  it('waiting and late records are written, and no connection remains', async () => {
    const entry = audit.openEntry(factsOf('late-close'));
    const closing = Array.from({ length: 100 }, () => audit.openEntry(factsOf('on-close')).close(SUCCESS));
    await service.close();
    await Promise.all(closing);
    expect(await countOf('on-close')).toBe(100);
    await entry.close(SUCCESS);
    expect(await countOf('late-close')).toBe(1);
    await eventually(async () => (await connectionsOfAudit()) === 0);
  });
});
