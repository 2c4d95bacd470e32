import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AUDIT_APPLICATION_NAME, AuditConnection } from '../../../src/audit/calls/audit-connection.js';
import { copyLine } from '../../../src/audit/calls/audit-record.js';
import { newId } from '../../../src/core/ids.js';
import { factsOf, SUCCESS, useAuditLog } from './audit-log.support.js';
import { eventually } from '../../support/eventually.js';

const setUp = useAuditLog();
const { connectionsOfAudit, countOf } = setUp;

describe('the audit log', () => {
  it('has stored the record when `close` resolves, also for consecutive calls', async () => {
    for (let n = 1; n <= 20; n++) {
      await setUp.audit.openEntry(factsOf('one-by-one')).close(SUCCESS);
      expect(await countOf('one-by-one')).toBe(n);
    }
  });

  it('contains exactly one record for each of 1000 concurrent invocations', async () => {
    const entries = Array.from({ length: 1000 }, () => setUp.audit.openEntry(factsOf('at-once')));
    await Promise.all(entries.map((entry) => entry.close(SUCCESS)));
    expect(await countOf('at-once')).toBe(1000);
  });

  it('records an invocation once when it is closed repeatedly', async () => {
    const entry = setUp.audit.openEntry(factsOf('twice'));
    await Promise.all([entry.close(SUCCESS), entry.close({ status: 'error', errorCode: 'internal', durationMs: 9 })]);
    await entry.close(SUCCESS);
    expect(await countOf('twice')).toBe(1);
  });

  it('stores hostile input as data, without affecting other records', async () => {
    const names = ['a\tb\nc\rd', '\\N', '\\.', 'NUL\0', '\ud800', '😀'.repeat(300), "'; DROP TABLE audit_records; --"];
    const entries = [...names, 'harmless'].map((toolName) => setUp.audit.openEntry(factsOf('hostile', { toolName })));
    await Promise.all(entries.map((entry) => entry.close(SUCCESS)));
    const { rows } = await setUp.witness.query(
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
      entry: setUp.audit.openEntry(factsOf('carried', { content: { arguments: carried } })),
      outcome: { ...SUCCESS, result: carried },
    }));
    entries.push({ entry: setUp.audit.openEntry(factsOf('carried')), outcome: { ...SUCCESS, result: 'not recorded' } });
    await Promise.all(entries.map(({ entry, outcome }) => entry.close(outcome)));
    const { rows } = await setUp.witness.query(
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
    const { rows } = await setUp.witness.query(
      `SELECT state || ' ' || coalesce(wait_event, '') AS state FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1`,
      [AUDIT_APPLICATION_NAME],
    );
    return String(rows[0]?.state);
  };

  /** An invocation whose statement the database has started. */
  const awaited = (requestId: string) =>
    eventually(async () => {
      await setUp.audit.openEntry(factsOf('before')).close(SUCCESS);
      const entry = setUp.audit.openEntry(factsOf(requestId));
      await nextTurn();
      await nextTurn();
      return (await stateOf()) === 'active ClientRead' && entry;
    });

  it('the database keeps a statement open for its record, for a limited time', async () => {
    const entry = await awaited('awaited');
    await eventually(async () => expect(await stateOf()).toBe('idle ClientRead'));
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
      await setUp.witness.query(end);
      await entry.close(SUCCESS);
    }
    expect(await countOf('ended')).toBe(ends.length);
  });

  it('closing does not wait for it', async () => {
    const connection = new AuditConnection(setUp.databaseUrl);
    await connection.copy(copyLine(newId(), new Date().toISOString(), factsOf('closed'), SUCCESS));
    connection.prepare();
    const connections = await connectionsOfAudit();
    await connection.end();
    expect(await countOf('closed')).toBe(1);
    await eventually(async () => expect(await connectionsOfAudit()).toBe(connections - 1));
  });
});
