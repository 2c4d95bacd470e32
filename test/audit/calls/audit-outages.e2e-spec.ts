import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { AUDIT_APPLICATION_NAME, AuditConnection } from '../../../src/audit/calls/audit-connection.js';
import { AuditWriter, type AuditWriterLog, CallsInFlight } from '../../../src/audit/calls/audit-writer.js';
import { copyLine } from '../../../src/audit/calls/audit-record.js';
import { newId } from '../../../src/core/ids.js';
import { factsOf, SUCCESS, useAuditLog } from './audit-log.support.js';
import { eventually } from '../../support/eventually.js';

const setUp = useAuditLog();
const { connectionsOfAudit, countOf } = setUp;

const logInto = (errors: object[]): AuditWriterLog => ({
  warn: () => undefined,
  error: (facts) => errors.push(facts),
});

describe('while the database is unavailable', () => {
  it('callers wait, and every record is written once after recovery', async () => {
    await setUp.audit.openEntry(factsOf('before')).close(SUCCESS);
    const closing = Array.from({ length: 200 }, () => setUp.audit.openEntry(factsOf('cut')).close(SUCCESS));
    await setUp.proxy.cut();
    closing.push(...Array.from({ length: 200 }, () => setUp.audit.openEntry(factsOf('cut')).close(SUCCESS)));
    await sleep(300);
    await setUp.proxy.restore();
    await Promise.all(closing);
    expect(await countOf('cut')).toBe(400);
  });

  it('a record is not written twice when the reply is lost', async () => {
    await setUp.audit.openEntry(factsOf('before')).close(SUCCESS);
    const locker = new Client({ connectionString: setUp.database.url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE audit_records IN EXCLUSIVE MODE');
    const closing = Promise.all(
      Array.from({ length: 50 }, () => setUp.audit.openEntry(factsOf('lost-answer')).close(SUCCESS)),
    );
    const blocked = `SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'
                      AND datname = current_database()`;
    await eventually(async () =>
      expect((await setUp.witness.query(blocked, [AUDIT_APPLICATION_NAME])).rowCount).toBe(1),
    );
    // The server has the statement and does not know that its client is gone: it commits.
    await setUp.proxy.cut();
    await setUp.proxy.restore();
    await eventually(async () =>
      expect((await setUp.witness.query(blocked, [AUDIT_APPLICATION_NAME])).rowCount).toBe(2),
    );
    await locker.end();
    await closing;
    expect(await countOf('lost-answer')).toBe(50);
  });

  it('new invocations are rejected beyond the limit, and no accepted record is lost', async () => {
    await setUp.audit.openEntry(factsOf('before')).close(SUCCESS);
    await setUp.proxy.cut();
    const begun = Array.from({ length: 20_000 }, () => setUp.audit.openEntry(factsOf('full')));
    const closing = begun.map((entry) => entry.close(SUCCESS).catch(() => undefined));
    expect(() => setUp.audit.openEntry(factsOf('full'))).toThrow(
      expect.objectContaining({ code: 'storage_unavailable' }),
    );
    await setUp.proxy.restore();
    await Promise.all(closing);
    await eventually(async () => expect(await countOf('full')).toBe(20_000));
    await setUp.audit.openEntry(factsOf('after')).close(SUCCESS);
  });

  it('new invocations are rejected beyond the memory limit for content', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 30_000, waitMs: 60_000, flushWithinMs: 200 };
    const writer = new AuditWriter(new AuditConnection(setUp.databaseUrl), new CallsInFlight(), logInto([]), limits);
    const content = { arguments: { text: 'x'.repeat(16_000) } };
    const write = (): Promise<void> =>
      writer.write(copyLine(newId(), new Date().toISOString(), factsOf('heavy', { content }), SUCCESS));
    await setUp.proxy.cut();
    const waiting = [write()];
    expect(writer.hasCapacity).toBe(true);
    waiting.push(write());
    expect(writer.hasCapacity).toBe(false);
    await setUp.proxy.restore();
    await Promise.all(waiting);
    await eventually(async () => writer.hasCapacity);
    await writer.close();
  });

  it('callers time out, and the record is written nevertheless', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 10_000, waitMs: 200, flushWithinMs: 5000 };
    const writer = new AuditWriter(new AuditConnection(setUp.databaseUrl), new CallsInFlight(), logInto([]), limits);
    await setUp.proxy.cut();
    const line = copyLine(newId(), new Date().toISOString(), factsOf('late'), SUCCESS);
    await expect(writer.write(line)).rejects.toMatchObject({ code: 'storage_unavailable', status: 503 });
    await setUp.proxy.restore();
    await eventually(async () => expect(await countOf('late')).toBe(1));
    await writer.close();
  });

  it('no invocation starts once nothing was written for as long as callers wait', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 10_000, waitMs: 200, flushWithinMs: 5000 };
    const writer = new AuditWriter(new AuditConnection(setUp.databaseUrl), new CallsInFlight(), logInto([]), limits);
    await setUp.proxy.cut();
    expect(writer.hasCapacity).toBe(true);
    const line = copyLine(newId(), new Date().toISOString(), factsOf('too-late'), SUCCESS);
    await expect(writer.write(line)).rejects.toMatchObject({ code: 'storage_unavailable' });
    await eventually(async () => !writer.hasCapacity);
    await setUp.proxy.restore();
    await eventually(async () => writer.hasCapacity);
    expect(await countOf('too-late')).toBe(1);
    await writer.close();
  });

  it('closing times out', async () => {
    const limits = { maxWaiting: 10, maxWaitingLength: 10_000, waitMs: 60_000, flushWithinMs: 200 };
    const errors: object[] = [];
    const writer = new AuditWriter(
      new AuditConnection(setUp.databaseUrl),
      new CallsInFlight(),
      logInto(errors),
      limits,
    );
    await setUp.proxy.cut();
    const written = writer.write(copyLine(newId(), new Date().toISOString(), factsOf('given-up'), SUCCESS));
    const refused = expect(written).rejects.toMatchObject({ code: 'storage_unavailable' });
    await writer.close();
    await refused;
    expect(errors).toEqual([expect.objectContaining({ code: 'storage_unavailable', records: 1 })]);
    await setUp.proxy.restore();
  });
});

describe('when the service closes', () => {
  it('waiting and late records are written, and no connection remains', async () => {
    const entry = setUp.audit.openEntry(factsOf('late-close'));
    const closing = Array.from({ length: 100 }, () => setUp.audit.openEntry(factsOf('on-close')).close(SUCCESS));
    await setUp.service.close();
    await Promise.all(closing);
    expect(await countOf('on-close')).toBe(100);
    await entry.close(SUCCESS);
    expect(await countOf('late-close')).toBe(1);
    await eventually(async () => expect(await connectionsOfAudit()).toBe(0));
  });
});
