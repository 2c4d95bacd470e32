import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

const TIMEOUT_MS = 60_000;
/** Far more than the buffers of a connection hold. */
const MANY = 40_000;

let database: TestDatabase;
let proxy: TcpProxy;
let service: TestService;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy(database.url);
  service = await startTestService({ database: { url: through(proxy, database.url), drop: () => database.drop() } });
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `INSERT INTO audit_records (organization_id, at, id, door, tool_name, status, duration_ms, request_id, public)
     SELECT o.id, now() - n * interval '1 second', gen_random_uuid(), 'proxy', 't' || n, 'success', n, 'r' || n, false
       FROM organizations o, generate_series(1, $1::integer) n WHERE o.slug = 'default'`,
    [MANY],
  );
  await client.end();
}, TIMEOUT_MS);
afterAll(async () => {
  await service?.close();
  await proxy?.close();
  await database?.drop();
});

/** Opens an export without reading it. */
async function openExport(format: 'csv' | 'jsonl'): Promise<IncomingMessage> {
  const call = httpRequest(`${service.url}/api/default/monitoring/export`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
  });
  call.on('error', () => undefined);
  call.end(JSON.stringify({ records: 'calls', format }));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return response;
}

describe('an export while the database goes away', () => {
  it.each<[what: string, format: 'csv' | 'jsonl', leave: () => unknown, comeBack: () => unknown]>([
    ['refuses connections', 'csv', () => proxy.cut(), () => proxy.restore()],
    ['falls silent', 'jsonl', () => proxy.freeze(), () => proxy.thaw()],
  ])(
    'that %s is visibly incomplete, and complete when it is asked for again',
    async (_what, format, leave, comeBack) => {
      const response = await openExport(format);
      await once(response, 'readable');
      await leave();
      try {
        // The response has no end: neither a last chunk nor a length that is reached.
        await expect(text(response)).rejects.toThrow('aborted');
        expect(response.complete).toBe(false);
      } finally {
        await comeBack();
      }
      let again = await openExport(format).catch(() => undefined);
      for (const giveUpAt = Date.now() + 30_000; again === undefined && Date.now() < giveUpAt;)
        again = await openExport(format).catch(() => undefined);
      const lines = (await text(again as IncomingMessage)).trimEnd().split('\n');
      // The record of that export's own beginning is an event, not a call.
      expect(lines.length).toBeGreaterThanOrEqual(MANY);
      expect(again?.complete).toBe(true);
    },
    TIMEOUT_MS,
  );
});
