import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import supertest from 'supertest';
import { startTestService, type TestService } from '../support/service.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/problem.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { eventually } from '../support/eventually.js';

let database: TestDatabase;
let proxy: TcpProxy;
let service: TestService;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startTcpProxy(database.url);
  service = await startTestService({ database: { url: through(proxy, database.url), drop: () => database.drop() } });
});

afterAll(async () => {
  await service?.close();
  await proxy?.close();
  await database?.drop();
});

const health = (probe: 'live' | 'ready'): supertest.Test => supertest(service.url).get(`/health/${probe}`);

describe('health', () => {
  it('is live and ready without a credential', async () => {
    expect((await health('live').expect(200)).body).toEqual({ status: 'ok' });
    const ready = await health('ready').expect(200);
    expect(ready.body).toEqual({ status: 'ok', checks: { audit: 'ok', database: 'ok', queue: 'ok' } });
  });
});

describe('while the database is unavailable', () => {
  it('the service stays live, reports the outage, and recovers with the database', async () => {
    const agent = await service.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
    const agentId = agent.body.item.id as string;
    await proxy.cut();

    const refused = await service.tool('API_KEY_LIST');
    expectProblem(refused, 503, 'storage_unavailable');
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.text).not.toMatch(/ECONN|terminated|127\.0\.0\.1/);
    // The cached key has expired. The response must not be 401, which would make callers discard a valid key.
    await sleep(1000);
    expectProblem(await service.tool('API_KEY_LIST'), 503, 'storage_unavailable');

    expect((await health('live')).status).toBe(200);
    const ready = await health('ready');
    expect(ready.status).toBe(503);
    expect(ready.body).toMatchObject({
      status: 'unavailable',
      checks: { database: 'unavailable', queue: 'unavailable' },
    });
    // The record of the refused call is not written within its time limit. Until the next attempt succeeds, invocations
    // are refused.
    await eventually(async () => expect((await health('ready')).body.checks.audit).toBe('unavailable'));

    await proxy.restore();
    await eventually(async () => expect((await health('ready')).status).toBe(200));
    await service.tool('API_KEY_LIST').expect(200);

    // The queue and the event bus have recovered too: a run completes.
    const data = { id: 'after', title: 'After', virtual_mcp_id: agentId };
    await service.tool('COLLECTION_THREADS_CREATE', { data }).expect(200);
    await supertest(service.url)
      .post('/api/default/agent-runtime/threads/after/messages')
      .set('authorization', `Bearer ${service.apiKey}`)
      .send({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }], agent: { id: agentId } })
      .expect(202);
    await eventually(async () => {
      const { body } = await service.tool('COLLECTION_THREADS_GET', { id: 'after' }).expect(200);
      expect(body.item.status).toBe('completed');
    });
  });
});
