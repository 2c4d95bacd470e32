import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestService, type TestService } from '../support/service.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type EverythingServer, startEverything } from '../support/everything-server.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../support/proxy-calls.js';
import { auditOf, connectTo } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';

const AWAY_MS = 5_000;

let database: TestDatabase;
let relay: TcpProxy;
let everything: EverythingServer;
let app: TestService;
let path: string;

beforeAll(async () => {
  everything = await startEverything();
  database = await createTestDatabase();
  relay = await startTcpProxy(database.url);
  app = await startTestService({ database: { url: through(relay, database.url), drop: () => database.drop() } });
  path = pathOf(app, await connectTo(app, everything.url));
});
afterAll(async () => {
  await app?.close();
  await relay?.close();
  await database?.drop();
  await everything?.close();
});

interface Outcome {
  status: number;
  requestId: string;
  code: string | undefined;
}

async function call(id: number): Promise<Outcome> {
  const answer = await callProxy(app, path, { key: app.apiKey, body: toolCall('echo', { message: `m${id}` }, id) });
  const { id: answered, result, error } = rpcOf(answer);
  if (result !== undefined)
    expect({ answered, text: result.content?.[0]?.text }).toEqual({ answered: id, text: `Echo: m${id}` });
  return { status: answer.status, requestId: String(answer.headers['x-request-id']), code: error?.data.code };
}

describe(`a database that is unavailable for ${AWAY_MS} ms`, () => {
  it('delays callers or answers 503, neither loses nor duplicates records, and recovers', async () => {
    expect((await call(0)).status).toBe(200);
    const calls: Promise<Outcome>[] = [];
    await relay.cut();
    for (let id = 1; id <= AWAY_MS / 100; id++) {
      calls.push(call(id));
      await sleep(100);
    }
    await relay.restore();
    const outcomes = await Promise.all(calls);
    for (const { status, code } of outcomes) {
      expect([200, 503]).toContain(status);
      if (status === 503) expect(code).toBe('storage_unavailable');
    }
    await eventually(async () => expect((await call(1000)).status).toBe(200));
    // Every answered call is recorded; `auditOf` fails if it is recorded twice.
    for (const { requestId } of outcomes.filter(({ status }) => status === 200)) {
      expect(await auditOf(app, requestId)).toMatchObject({ status: 'success', tool_name: 'echo' });
    }
  });
});
