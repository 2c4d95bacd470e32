import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type StatementRelay, startStatementRelay } from '../../support/statement-relay.js';

const SLOTS = 24;
const WAITING = 96;

let database: TestDatabase;
let relay: StatementRelay;
let app: TestApp;

beforeAll(async () => {
  database = await createTestDatabase();
  relay = await startStatementRelay(database.url);
  app = await startTestApp({
    database: { ...database, url: relay.url },
    env: { RUN_CONCURRENCY: String(SLOTS) },
  });
});
afterAll(async () => {
  await app?.close();
  await relay?.close();
  await database?.drop();
});

describe('more runs than slots', () => {
  it('finds each waiting run once, though slots become free at the same time', async () => {
    const agentId = await createAgent(app);
    const post = async (text: string): Promise<[ThreadClient, string]> => {
      const thread = await ThreadClient.create(app, agentId);
      return [thread, await thread.postMessage(text)];
    };
    const blocking = await Promise.all(Array.from({ length: SLOTS }, () => post('/wait 3000')));
    const before = relay.statements.length;
    const waiting = await Promise.all(Array.from({ length: WAITING }, () => post('hello')));
    const from = relay.statements.length;
    for (const [thread, taskId] of [...blocking, ...waiting]) await thread.waitFor(taskId, 'completed');
    const searchesSince = (start: number): number =>
      relay.statements.slice(start).filter((text) => text.includes('RECURSIVE busy')).length;
    // A slot can become free, and find a run, before the last one is posted.
    expect(searchesSince(before)).toBeGreaterThanOrEqual(WAITING);
    expect(searchesSince(from)).toBeLessThan(1.5 * WAITING);
  });
});
