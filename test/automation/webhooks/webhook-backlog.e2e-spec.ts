import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { DeliveryRepository } from '../../../src/automation/webhooks/delivery.repository.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { WebhookReceiver } from '../../support/webhook-receiver.js';
import { createWebhook, deliveriesOf } from './webhooks.support.js';

let app: TestApp;
let receiver: WebhookReceiver;
let thread: ThreadClient;

beforeAll(async () => {
  [app, receiver] = await Promise.all([startTestApp(), WebhookReceiver.start()]);
  thread = await ThreadClient.create(app, await createAgent(app));
});

afterAll(async () => {
  await app?.close();
  await receiver?.close();
});

afterEach(async () => {
  const { items } = await succeed<{ items: { id: string }[] }>(app, 'WEBHOOK_LIST', {});
  for (const { id } of items) await succeed(app, 'WEBHOOK_DELETE', { id });
});

describe('a webhook with many deliveries', () => {
  it.each([
    ['disabled', 'WEBHOOK_UPDATE', { data: { enabled: false } }, { delivered: 2500 }],
    ['deleted', 'WEBHOOK_DELETE', {}, {}],
  ])('delays no end of a run while it is %s', async (_what, tool, input, kept) => {
    const { id } = (await createWebhook(app, receiver.url)).item;
    const runId = await thread.postMessage('/wait 60000');
    await thread.waitFor(runId, 'running');
    await storeDeliveries(id, 2500, 'delivered');
    await storeDeliveries(id, 2500, 'pending');
    const database = app.app.get(DataSource);
    const answer = await database.transaction(async (manager) => {
      await manager.query('SELECT FROM webhook_deliveries WHERE webhook_id = $1 FOR UPDATE', [id]);
      const [holder]: { pid: number }[] = await manager.query('SELECT pg_backend_pid() AS pid');
      const answering = app.tool(tool, { id, ...input }).then(({ body }) => body as object);
      await eventually(async () => {
        const waiting: object[] = await database.query(
          'SELECT FROM pg_stat_activity WHERE datname = current_database() AND $1 = ANY(pg_blocking_pids(pid))',
          [holder?.pid],
        );
        return waiting[0] ?? false;
      });
      await thread.cancel(runId).expect(202);
      await thread.waitFor(runId, 'cancelled');
      return { answering };
    });
    expect(await answer.answering).toMatchObject({ item: { id } });
    expect(await deliveriesOf(app, runId)).toEqual([]);
    const rows: { status: string; count: number }[] = await database.query(
      'SELECT status, count(*)::integer FROM webhook_deliveries WHERE webhook_id = $1 GROUP BY status',
      [id],
    );
    expect(Object.fromEntries(rows.map(({ status, count }) => [status, count]))).toEqual(kept);
  });
});

it('looks for due deliveries seldom although many tries end', async () => {
  const { id } = (await createWebhook(app, receiver.url)).item;
  const claims = jest.spyOn(app.app.get(DeliveryRepository), 'claim');
  try {
    const start = performance.now();
    await storeDeliveries(id, 400, 'pending', 'now');
    const where = { field: ['webhook_id'], operator: 'eq', value: id };
    const delivered = {
      operator: 'and',
      conditions: [where, { field: ['status'], operator: 'eq', value: 'delivered' }],
    };
    await eventually(async () => {
      const page = await succeed<{ totalCount: number }>(app, 'WEBHOOK_DELIVERIES_LIST', {
        where: delivered,
        limit: 1,
      });
      expect(page.totalCount).toBe(400);
    });
    // Polls, and a claim in 50 ms; timers can be a little early.
    expect(claims.mock.calls.length).toBeLessThan((performance.now() - start) / 40 + 10);
  } finally {
    claims.mockRestore();
  }
});

it('deletes settled deliveries after 30 days', async () => {
  const worker = await startTestApp({ database: app.database, env: { ROLE: 'worker', RETENTION_DAY_MS: '10' } });
  try {
    await createWebhook(app, receiver.url);
    const runId = await thread.postMessage('hello');
    await receiver.messagesOf(runId);
    await eventually(async () => expect(await deliveriesOf(app, runId)).toEqual([]));
  } finally {
    await worker.close();
  }
});

async function storeDeliveries(webhookId: string, count: number, status: string, due = 'infinity'): Promise<void> {
  await app.app.get(DataSource).query(
    `INSERT INTO webhook_deliveries (id, organization_id, webhook_id, event, run_id, body, status, next_try_at)
       SELECT gen_random_uuid(), organization_id, id, 'run.completed', gen_random_uuid(), '{}', $3, $4::timestamptz
         FROM webhooks, generate_series(1, $2) WHERE id = $1`,
    [webhookId, count, status, due],
  );
}
