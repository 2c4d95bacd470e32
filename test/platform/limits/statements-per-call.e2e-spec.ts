import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { type StatementRelay, startStatementRelay } from '../../support/statement-relay.js';
import { succeed } from '../../support/agent-runs.js';

const TOOL = { name: 'fine', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
const CALLS = 400;
/** A statement that occurs this often belongs to the calls; others are periodic, or serve many calls. */
const TOO_OFTEN = CALLS / 4;
const PER_MINUTE = 20_000;
/** A call is counted against each of its limits. */
const COUNT = 'INSERT INTO rate_limits';
const LIMITS = 4;
/**
 * A call is answered after its record is stored: one statement for the records of all calls that end at the same time.
 */
const RECORD = 'COPY audit_records';

let database: TestDatabase;
let relay: StatementRelay;
let app: TestService;
let upstream: ScriptedServer;
let id: string;
let key: string;

beforeAll(async () => {
  const { script } = legacyServer(({ message }, response) => {
    const content = [{ type: 'text', text: 'done' }];
    sendResult(response, message, message.method === 'tools/call' ? { content } : { tools: [TOOL] });
  });
  upstream = await startScripted(script);
  database = await createTestDatabase();
  relay = await startStatementRelay(database.url);
  app = await startTestService({ database: { ...database, url: relay.url } });
  const rate_limit = { per_minute: PER_MINUTE, per_caller_per_minute: PER_MINUTE };
  id = await connectTo(app, upstream.url, { rate_limit });
  key = await keyWith(app, { self: ['*'], '*': ['*'] }, { rate_limit: { per_minute: PER_MINUTE } });
  await succeed(app, 'ORGANIZATION_UPDATE', { limits: { requests_per_minute: PER_MINUTE } });
  await succeed(app, 'AUDIT_SETTINGS_UPDATE', { content: true });
});
afterAll(async () => {
  await app?.close();
  await relay?.close();
  await database?.drop();
  await upstream?.close();
});

/** Calls the tool `CALLS` times; returns how often each statement reached PostgreSQL meanwhile. */
async function statementsOf(path: string, callers: number): Promise<Map<string, number>> {
  const from = relay.statements.length;
  await Promise.all(Array.from({ length: callers }, () => callInTurn(path, CALLS / callers)));
  const groups = Map.groupBy(relay.statements.slice(from), (text) => text.replaceAll(/\s+/g, ' ').trim().slice(0, 200));
  return new Map([...groups].map(([text, { length }]) => [text, length]));
}

async function callInTurn(path: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const answer = await callProxy(app, path, { key, body: toolCall('fine', { n }) });
    expect(rpcOf(answer).result?.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(answer.headers['ratelimit-policy']).toMatch(/"key".*"organization".*"connection".*"caller"/);
  }
}

async function recorded(): Promise<number> {
  const where = { field: ['tool_name'], operator: 'eq', value: 'fine' };
  return (await succeed<{ totalCount: number }>(app, 'MONITORING_LOGS_LIST', { where, limit: 1 })).totalCount;
}

describe('a call with all limits, audit log with content, and metrics', () => {
  const PATHS: [string, () => Promise<string>][] = [
    ['of a connection', async () => pathOf(app, id)],
    ['of a gateway', async () => gatewayPath(app, await agentOf(app, [id]))],
  ];

  it.each(PATHS)(
    '%s needs no statements of its own but those for its limits and its record',
    async (_what, pathFor) => {
      const path = await pathFor();
      await callInTurn(path, 50);
      const before = await recorded();
      const alone = await statementsOf(path, 1);
      const together = await statementsOf(path, 16);
      for (const [text, times] of [...alone, ...together]) {
        const isExpected = text.startsWith(RECORD) || text.startsWith(COUNT);
        if (!isExpected) expect({ text, isOften: times >= TOO_OFTEN }).toEqual({ text, isOften: false });
      }
      for (const statements of [alone, together]) {
        const counts = [...statements].filter(([text]) => text.startsWith(COUNT)).map(([, times]) => times);
        expect(counts).toEqual([expect.any(Number)]);
        expect(counts[0]).toBeLessThanOrEqual(LIMITS * CALLS);
      }
      const records = [...together].filter(([text]) => text.startsWith(RECORD)).map(([, times]) => times);
      expect(records).toEqual([expect.any(Number)]);
      expect(records[0]).toBeLessThan(CALLS / 2);
      expect((await recorded()) - before).toBe(2 * CALLS);
    },
  );
});
