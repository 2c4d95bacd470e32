import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, LONG, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { type StatementRelay, startStatementRelay } from '../../support/statement-relay.js';

const SLOTS = 24;
/** The slots that one key can have: two are left to other keys, and two to other organizations. */
const SHARE = 20;
const WAITING = 96;
/** At most as many claims are those of the periodic search, which looks every five seconds. */
const PERIODIC = 12;

let database: TestDatabase;
let relay: StatementRelay;
let app: TestService;

beforeAll(async () => {
  database = await createTestDatabase();
  relay = await startStatementRelay(database.url);
  app = await startTestService({
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
  it('searches once for each wake-up and each slot, though slots become free at the same time', async () => {
    const agentId = await createAgent(app);
    const post = async (text: string): Promise<[ThreadClient, string]> => {
      const thread = await ThreadClient.create(app, agentId);
      return [thread, await thread.postMessage(text)];
    };
    const blocking = await Promise.all(Array.from({ length: SHARE }, () => post(LONG)));
    for (const [thread, taskId] of blocking) await thread.waitFor(taskId, 'running');
    const before = relay.statements.length;
    const waiting = await Promise.all(Array.from({ length: WAITING }, () => post('hello')));
    await Promise.all(blocking.map(([thread, taskId]) => thread.cancel(taskId).expect(202)));
    for (const [thread, taskId] of waiting) await thread.waitFor(taskId, 'completed');
    const claims = relay.statements.slice(before).filter((text) => text.includes('claimed AS (')).length;
    expect(claims).toBeGreaterThanOrEqual(WAITING);
    // One for each wake-up, one for each slot that became free, and those of the periodic search.
    expect(claims).toBeLessThan(WAITING + (SLOTS + WAITING) + PERIODIC);
  });
});
