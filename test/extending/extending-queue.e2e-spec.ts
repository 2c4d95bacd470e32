import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EscalationProcessor } from '../../examples/extension/ratings/escalation.processor.js';
import { RatingsApiModule } from '../../examples/extension/ratings/ratings-api.module.js';
import { RatingsWorkerModule } from '../../examples/extension/ratings/ratings-worker.module.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/eventually.js';

const THREAD = 'rated';

let database: TestDatabase;
let api: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  await migrate(database.url);
  api = await startTestApp({ database, modules: [RatingsApiModule], env: { ROLE: 'api' } });
  const agent = await api.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections: [] } });
  const thread = { id: THREAD, title: 'Rated', virtual_mcp_id: agent.body.item.id };
  await api.tool('COLLECTION_THREADS_CREATE', { data: thread }).expect(200);
});
afterAll(async () => {
  await api?.close();
  await database?.drop();
});

async function escalatedAt(id: string): Promise<string | null> {
  const where = { field: ['id'], operator: 'eq', value: id };
  const { body } = await api.tool('RATING_LIST', { where }).expect(200);
  return body.items[0].escalated_at;
}

async function untilEscalated(id: string): Promise<void> {
  await eventually(async () => expect(await escalatedAt(id)).not.toBeNull());
}

async function rate(stars: number): Promise<string> {
  const { body } = await api.tool('RATING_CREATE', { thread_id: THREAD, stars }).expect(200);
  return body.item.id;
}

describe('a queue of an extension', () => {
  it('keeps jobs until a worker executes them', async () => {
    const rated = await rate(1);
    const praised = await rate(5);
    expect(() => api.app.get(EscalationProcessor, { strict: false })).toThrow();
    expect(await escalatedAt(rated)).toBeNull();

    const worker = await startTestApp({ database, modules: [RatingsWorkerModule], env: { ROLE: 'worker' } });
    try {
      await untilEscalated(rated);
      await untilEscalated(await rate(1));
      expect(await escalatedAt(praised)).toBeNull();
    } finally {
      await worker.close();
    }
  });
});
