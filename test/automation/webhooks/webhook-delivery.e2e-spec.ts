import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { DataSource } from 'typeorm';
import { answer, createAskingAgent, startUpstream, startWaiting } from '../../runtime/approvals/approvals.support.js';
import { connect, createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { answerWith, type ReceivedMessage, type Respond, WebhookReceiver } from '../../support/webhook-receiver.js';
import { eventually } from '../../support/eventually.js';
import { type CreatedWebhook, createWebhook, deliveriesOf, deliveryOf, makeDue } from './webhooks.support.js';

const LONG_MS = 60_000;

let app: TestApp;
let receiver: WebhookReceiver;
let agentId: string;
let thread: ThreadClient;

beforeAll(async () => {
  [app, receiver] = await Promise.all([startTestApp(), WebhookReceiver.start()]);
  agentId = await createAgent(app);
  thread = await ThreadClient.create(app, agentId);
});

afterAll(async () => {
  await app?.close();
  await receiver?.close();
});

afterEach(async () => {
  receiver.respond = answerWith(204);
  const { items } = await succeed<{ items: { id: string }[] }>(app, 'WEBHOOK_LIST', {});
  for (const { id } of items) await succeed(app, 'WEBHOOK_DELETE', { id });
});

function verify({ secret }: Pick<CreatedWebhook, 'secret'>, message: ReceivedMessage | undefined): unknown {
  return new Webhook(secret).verify(message?.body ?? '', message?.headers as never);
}

function only<T>(found: readonly T[]): T {
  expect(found).toHaveLength(1);
  return found[0] as T;
}

describe('the message', () => {
  it('tells of a completed run, signed, without a text of anybody', async () => {
    const webhook = await createWebhook(app, receiver.url);
    const metadata = { customer: 'c-4711' };
    await succeed(app, 'COLLECTION_THREADS_UPDATE', { id: thread.id, data: { metadata } });
    const runId = await thread.postMessage('a text of somebody');
    const message = only(await receiver.messagesOf(runId));
    expect(message.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'signalbox' });
    expect(verify(webhook, message)).toEqual({
      type: 'run.completed',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: {
        run_id: runId,
        thread_id: thread.id,
        agent_id: agentId,
        status: 'completed',
        usage: expect.objectContaining({ totalTokens: expect.any(Number) }),
        metadata,
      },
    });
    expect(message.body).not.toContain('somebody');
    const delivery = await deliveryOf(app, runId, { status: 'delivered' });
    expect(delivery).toEqual({
      id: message.headers['webhook-id'],
      webhook_id: webhook.item.id,
      event: 'run.completed',
      run_id: runId,
      status: 'delivered',
      attempts: 1,
      last_status: 204,
      last_error: null,
      next_try_at: null,
      created_at: expect.any(String),
    });
  });

  it('has the code of the error of a failed run', async () => {
    const webhook = await createWebhook(app, receiver.url);
    const runId = await thread.postMessage('/fail secret reason');
    const message = only(await receiver.messagesOf(runId));
    const { error } = await thread.run(runId);
    expect(verify(webhook, message)).toMatchObject({
      type: 'run.failed',
      data: { status: 'failed', error_code: error?.code },
    });
    expect(message.body).not.toContain('secret reason');
  });

  it('tells of cancelled runs, started or not', async () => {
    await createWebhook(app, receiver.url, { events: ['run.cancelled'] });
    const running = await thread.postMessage('/wait 60000');
    const queued = await thread.postMessage('never started');
    await thread.waitFor(running, 'running');
    await thread.cancel().expect(202);
    for (const runId of [running, queued]) {
      const message = only(await receiver.messagesOf(runId));
      expect(JSON.parse(message.body)).toMatchObject({ type: 'run.cancelled', data: { status: 'cancelled' } });
    }
  });

  it('tells of each requested approval once, and then of the end of the run', async () => {
    const events = ['approval.requested', 'run.completed'];
    const webhook = await createWebhook(app, receiver.url, { events });
    const upstream = await startUpstream();
    try {
      const asking = await createAskingAgent(app, await connect(app, upstream.url), 'all');
      const { thread: on, taskId, approvals } = await startWaiting(app, asking, '/call send {}');
      const request = only(await receiver.messagesOf(taskId));
      const { id: approvalId } = only(approvals);
      expect(verify(webhook, request)).toMatchObject({
        type: 'approval.requested',
        data: { run_id: taskId, thread_id: on.id, approval_id: approvalId },
      });
      await answer(app, on.id, approvalId, { approved: true }).expect(202);
      await on.waitFor(taskId, 'completed');
      const types = (await receiver.messagesOf(taskId, 2)).map(
        ({ body }) => (JSON.parse(body) as { type: string }).type,
      );
      expect(types.sort()).toEqual(events);
    } finally {
      await upstream.close();
    }
  });
});

describe('who is told', () => {
  it('is each webhook that wants the event of the agent, in the organization of the run', async () => {
    const other = await startSecondOrganization(app, 'other');
    const events = ['run.completed'];
    await other.tool('WEBHOOK_CREATE', { data: { url: `${receiver.url}/other`, events } }).expect(200);
    const otherAgent = await createAgent(app);
    await createWebhook(app, `${receiver.url}/all`, { events });
    await createWebhook(app, `${receiver.url}/agent`, { events, agent_ids: [agentId] });
    await createWebhook(app, `${receiver.url}/otherAgent`, { events, agent_ids: [otherAgent] });
    await createWebhook(app, `${receiver.url}/failures`, { events: ['run.failed'] });
    await createWebhook(app, `${receiver.url}/disabled`, { events, enabled: false });
    const runId = await thread.postMessage('hello');
    const messages = await receiver.messagesOf(runId, 2);
    expect(messages.map(({ path }) => path).toSorted()).toEqual(['/hook/agent', '/hook/all']);
    expect(await deliveriesOf(app, runId)).toHaveLength(2);
  });

  it('is nobody if the end of the run is undone', async () => {
    await createWebhook(app, receiver.url);
    const database = app.app.get(DataSource);
    const runId = await thread.postMessage('/wait 60000');
    await thread.waitFor(runId, 'running');
    const undone = database.transaction(async (manager) => {
      await manager.query(`UPDATE runs SET status = 'completed' WHERE id = $1`, [runId]);
      const written: unknown[] = await manager.query('SELECT 1 FROM webhook_deliveries WHERE run_id = $1', [runId]);
      expect(written).toHaveLength(1);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await deliveriesOf(app, runId)).toEqual([]);
    await thread.cancel(runId).expect(202);
    expect(JSON.parse(only(await receiver.messagesOf(runId)).body)).toMatchObject({ type: 'run.cancelled' });
  });
});

describe('a failed try', () => {
  it('is repeated with the same id and body, and a new signature, until the eighth', async () => {
    const webhook = await createWebhook(app, receiver.url);
    receiver.respond = answerWith(500);
    const runId = await thread.postMessage('hello');
    const pausesS = [5, 60, 300, 1800, 7200, 18_000, 36_000];
    for (const [index, pause] of pausesS.entries()) {
      const { id, next_try_at, ...delivery } = await deliveryOf(app, runId, { attempts: index + 1 });
      expect(delivery).toMatchObject({
        status: 'pending',
        last_status: 500,
        last_error: 'The receiver answered with 500.',
      });
      // A check that a busy machine can only delay: the try was recorded at most as long ago as the test has run.
      expect(Date.parse(next_try_at ?? '') - Date.parse(delivery.created_at)).toBeGreaterThanOrEqual(pause * 900);
      await makeDue(app, id);
    }
    expect(await deliveryOf(app, runId, { attempts: 8 })).toMatchObject({ status: 'failed', next_try_at: null });
    const messages = await receiver.messagesOf(runId, 8);
    expect(messages).toHaveLength(8);
    expect(new Set(messages.map(({ headers, body }) => `${String(headers['webhook-id'])} ${body}`)).size).toBe(1);
    for (const message of messages) verify(webhook, message);
  });

  it.each<[string, { respond: Respond; last_status: number | null; reason: RegExp }]>([
    ['a redirect', { respond: answerWith(302, { location: '/elsewhere' }), last_status: 302, reason: /redirect/ }],
    ['an answer of 100 MB', { respond: writeForever, last_status: 200, reason: /more than 65536 bytes/ }],
    ['a broken connection', { respond: (response) => void response.destroy(), last_status: null, reason: /reached/ }],
  ])('is %s', async (_name, { respond, last_status, reason }) => {
    await createWebhook(app, receiver.url);
    receiver.respond = respond;
    const runId = await thread.postMessage('hello');
    const delivery = await deliveryOf(app, runId, { attempts: 1 });
    expect(delivery).toMatchObject({ last_status, status: 'pending', last_error: expect.stringMatching(reason) });
    expect(await receiver.messagesOf(runId)).toHaveLength(1);
  });

  it(
    'is an answer that takes too long, which delays no other webhook',
    async () => {
      await createWebhook(app, `${receiver.url}/slow`);
      const hanging = await WebhookReceiver.start();
      hanging.respond = () => undefined;
      try {
        const slow = await createWebhook(app, hanging.url);
        // More than its share of tries.
        const runs = await Promise.all(
          Array.from({ length: 20 }, async () => (await ThreadClient.create(app, agentId)).postMessage('hello')),
        );
        for (const runId of runs) await receiver.messagesOf(runId);
        const where = { field: ['webhook_id'], operator: 'eq', value: slow.item.id };
        const { items } = await succeed<{ items: { attempts: number }[] }>(app, 'WEBHOOK_DELIVERIES_LIST', { where });
        expect(items).toHaveLength(20);
        expect(hanging.messages.length).toBeLessThan(20);
        const failed = await eventually(async () => {
          const tried = { operator: 'and', conditions: [where, { field: ['attempts'], operator: 'gt', value: 0 }] };
          const page = await succeed<{ items: object[] }>(app, 'WEBHOOK_DELIVERIES_LIST', { where: tried });
          return page.items[0] ?? false;
        });
        expect(failed).toMatchObject({
          status: 'pending',
          last_status: null,
          last_error: 'The receiver did not answer completely within 15 seconds.',
        });
      } finally {
        await hanging.close();
      }
    },
    LONG_MS,
  );

  it('with 410 disables the webhook and drops what is pending', async () => {
    const webhook = await createWebhook(app, receiver.url);
    receiver.respond = answerWith(500);
    const pending = await thread.postMessage('hello');
    await deliveryOf(app, pending, { attempts: 1 });
    const later = `UPDATE webhook_deliveries SET next_try_at = now() + interval '1 hour' WHERE run_id = $1`;
    await app.app.get(DataSource).query(later, [pending]);
    receiver.respond = answerWith(410);
    const gone = await thread.postMessage('hello');
    const disabled = await eventually(async () => {
      const { items } = await succeed<{ items: CreatedWebhook['item'][] }>(app, 'WEBHOOK_LIST', {});
      return items.find(({ enabled }) => !enabled) ?? false;
    });
    expect(disabled).toMatchObject({
      id: webhook.item.id,
      disabled_reason: 'The receiver answered with 410 (Gone).',
    });
    const delivery = await deliveryOf(app, gone, { status: 'failed', last_status: 410 });
    await eventually(async () => expect(await deliveriesOf(app, pending)).toEqual([]));
    expect((await app.tool('WEBHOOK_REDELIVER', { id: delivery.id })).body).toMatchObject({ code: 'conflict' });
    const { item } = await succeed<CreatedWebhook>(app, 'WEBHOOK_UPDATE', {
      id: webhook.item.id,
      data: { enabled: true },
    });
    expect(item).toMatchObject({ enabled: true, disabled_reason: null });
  });
});

describe('what is pending', () => {
  it('goes to a new address', async () => {
    const webhook = await createWebhook(app, `${receiver.url}/old`);
    receiver.respond = answerWith(500);
    const runId = await thread.postMessage('hello');
    const { id } = await deliveryOf(app, runId, { attempts: 1 });
    receiver.respond = answerWith(204);
    await succeed(app, 'WEBHOOK_UPDATE', { id: webhook.item.id, data: { url: `${receiver.url}/new` } });
    await makeDue(app, id);
    await deliveryOf(app, runId, { status: 'delivered', attempts: 2 });
    expect((await receiver.messagesOf(runId, 2)).map(({ path }) => path)).toEqual(['/hook/old', '/hook/new']);
  });

  it('is dropped when the webhook is disabled, also for runs that end at that moment', async () => {
    const webhook = await createWebhook(app, receiver.url);
    receiver.respond = answerWith(500);
    const posting = Array.from({ length: 10 }, async () =>
      (await ThreadClient.create(app, agentId)).postMessage('hello'),
    );
    await Promise.race(posting);
    await succeed(app, 'WEBHOOK_UPDATE', { id: webhook.item.id, data: { enabled: false } });
    for (const runId of await Promise.all(posting)) await thread.waitFor(runId, 'completed');
    const where = { field: ['status'], operator: 'eq', value: 'pending' };
    expect(await succeed(app, 'WEBHOOK_DELIVERIES_LIST', { where })).toMatchObject({ totalCount: 0 });
  });
});

describe('a rotated secret', () => {
  it('signs together with the previous one for 24 hours', async () => {
    const webhook = await createWebhook(app, receiver.url);
    const rotated = await succeed<CreatedWebhook>(app, 'WEBHOOK_ROTATE', { id: webhook.item.id });
    expect(rotated.secret).not.toBe(webhook.secret);
    const first = only(await receiver.messagesOf(await thread.postMessage('hello')));
    verify(rotated, first);
    verify(webhook, first);
    await app.app
      .get(DataSource)
      .query(`UPDATE webhooks SET previous_secret_until = previous_secret_until - interval '24 hours'`);
    const second = only(await receiver.messagesOf(await thread.postMessage('hello')));
    verify(rotated, second);
    expect(() => verify(webhook, second)).toThrow('No matching signature found');
  });
});

describe('WEBHOOK_REDELIVER', () => {
  it('sends a delivered message again with the same id', async () => {
    await createWebhook(app, receiver.url);
    const runId = await thread.postMessage('hello');
    const { id } = await deliveryOf(app, runId, { status: 'delivered' });
    expect(await succeed(app, 'WEBHOOK_REDELIVER', { id })).toMatchObject({ item: { id, attempts: 0 } });
    const messages = await receiver.messagesOf(runId, 2);
    expect(messages.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
    expect(messages[0]?.body).toBe(messages[1]?.body);
    await deliveryOf(app, runId, { status: 'delivered', attempts: 1 });
  });
});

/** Until the reader hangs up, at most 100 MB. */
function writeForever(response: ServerResponse): void {
  const block = Buffer.alloc(65_536);
  let left = 100 * 1024 * 1024;
  const write = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= block.length;
      if (!response.write(block)) return;
    }
    response.end();
  };
  response.writeHead(200).on('drain', write);
  write();
}
