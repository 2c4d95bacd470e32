import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { Webhook } from 'standardwebhooks';
import type { WebhookTested } from '../../../src/automation/webhooks/webhook.dto.js';
import { createAgent, succeed, unusedId } from '../../support/agent-runs.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { answerWith, WebhookReceiver } from '../../support/webhook-receiver.js';
import { type CreatedWebhook, createWebhook, deleteWebhook } from './webhooks.support.js';

let app: Tenant;
/** Where private addresses are refused. */
let strict: Tenant;
let receiver: WebhookReceiver;

beforeAll(async () => {
  [app, strict, receiver] = await Promise.all([
    newTenant(),
    newTenant({ UPSTREAM_ALLOW_PRIVATE: 'false', UPSTREAM_ALLOW: 'localhost:1' }),
    WebhookReceiver.start(),
  ]);
});

afterAll(async () => {
  await app?.close();
  await strict?.close();
  await receiver?.close();
});

const DATA = { url: 'https://example.com/hook', events: ['run.completed'] };

describe('WEBHOOK_CREATE', () => {
  it('returns the webhook and, only here, its secret', async () => {
    const created = await createWebhook(app, 'https://example.com/hook?team=1', { events: ['run.failed'] });
    expect(created).toEqual({
      item: {
        id: expect.any(String),
        url: 'https://example.com/hook?team=1',
        events: ['run.failed'],
        agent_ids: null,
        enabled: true,
        disabled_reason: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const list = await succeed<{ items: unknown[] }>(app, 'WEBHOOK_LIST', {});
    expect(list).toEqual({ items: [created.item], totalCount: 1, hasMore: false, nextCursor: null });
    const rows = await app.query<{ row: string }>('SELECT webhooks::text AS row FROM webhooks WHERE id = $1', [
      created.item.id,
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(created.secret.slice('whsec_'.length));
    await deleteWebhook(app, created);
  });

  it.each([
    [{ ...DATA, events: [] }, 'data.events'],
    [{ ...DATA, events: ['run.started'] }, 'data.events'],
    [{ ...DATA, events: ['run.failed', 'run.failed'] }, 'data.events'],
    [{ events: ['run.failed'] }, 'data.url'],
    [{ ...DATA, agent_ids: [] }, 'data.agent_ids'],
    [{ ...DATA, agent_ids: ['agent'] }, 'data.agent_ids'],
    [{ ...DATA, agent_ids: [unusedId()] }, 'data.agent_ids[0]'],
    [{ ...DATA, url: 'ftp://example.com' }, 'data.url'],
    [{ ...DATA, url: 'example.com' }, 'data.url'],
    [{ ...DATA, url: 'https://user:password@example.com/' }, 'data.url'],
  ])('refuses %j', async (data, path) => {
    const { status, body } = await app.tool('WEBHOOK_CREATE', { data });
    expect({ status, paths: (body.errors as { path: string }[]).map((error) => error.path) }).toEqual({
      status: 400,
      paths: [expect.stringContaining(path)],
    });
  });

  it('refuses private addresses, also in an update', async () => {
    const url = 'http://169.254.169.254/latest';
    for (const address of [url, 'http://127.0.0.1/', 'http://[::1]/', 'http://10.0.0.1/', 'http://localhost/']) {
      const { status, body } = await strict.tool('WEBHOOK_CREATE', { data: { ...DATA, url: address } });
      expect({ address, status, code: body.code }).toEqual({ address, status: 400, code: 'address_refused' });
    }
    const { item } = await createWebhook(strict, 'https://example.com/');
    const update = await strict.tool('WEBHOOK_UPDATE', { id: item.id, data: { url } });
    expect(update.body).toMatchObject({ status: 400, code: 'address_refused' });
  });

  it('refuses an address that its name resolves to, when it is dialed', async () => {
    const { item } = await createWebhook(strict, 'http://localhost:1/');
    await strict.query(`UPDATE webhooks SET url = $2 WHERE id = $1`, [item.id, receiver.url]);
    const before = receiver.messages.length;
    expect(await succeed(strict, 'WEBHOOK_TEST', { id: item.id })).toMatchObject({
      ok: false,
      status: null,
      error: expect.stringContaining('loopback'),
    });
    expect(receiver.messages).toHaveLength(before);
  });

  it('says the same of a name inside its network and of one that does not exist', async () => {
    const errors = [];
    // The name of this machine has a private address, or none.
    for (const name of [hostname(), 'nowhere.invalid']) {
      const { item } = await createWebhook(strict, `http://${name}:9/`);
      errors.push((await succeed<WebhookTested>(strict, 'WEBHOOK_TEST', { id: item.id })).error);
    }
    expect(errors[0]).toBe('The name of the receiver has no public address.');
    expect(errors[1]).toBe(errors[0]);
  });

  it('allows 20 webhooks, also when more are created at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 25 }, () => app.tool('WEBHOOK_CREATE', { data: DATA })));
    const created = answers.filter(({ status }) => status === 200).map(({ body }) => body as CreatedWebhook);
    expect(created).toHaveLength(20);
    expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body.code)).toEqual(
      Array.from({ length: 5 }, () => 'limit_reached'),
    );
    await Promise.all(created.map((webhook) => deleteWebhook(app, webhook)));
    expect(await succeed(app, 'WEBHOOK_LIST', {})).toMatchObject({ totalCount: 0 });
  });
});

describe('a webhook', () => {
  let webhook: CreatedWebhook;

  beforeAll(async () => {
    webhook = await createWebhook(app, receiver.url);
  });

  it('can be changed', async () => {
    const agentId = await createAgent(app);
    const data = { agent_ids: [agentId.toUpperCase()], events: ['approval.requested'], enabled: false };
    const { item } = await succeed<CreatedWebhook>(app, 'WEBHOOK_UPDATE', { id: webhook.item.id, data });
    expect(item).toMatchObject({ ...data, agent_ids: [agentId], url: receiver.url });
    const reset = { agent_ids: null, events: webhook.item.events, enabled: true };
    expect(await succeed(app, 'WEBHOOK_UPDATE', { id: webhook.item.id, data: reset })).toMatchObject({ item: reset });
  });

  it('cannot be seen from another organization', async () => {
    const other = await startSecondOrganization(app, 'other');
    const { id } = webhook.item;
    for (const [name, input] of [
      ['WEBHOOK_UPDATE', { id, data: { enabled: false } }],
      ['WEBHOOK_DELETE', { id }],
      ['WEBHOOK_ROTATE', { id }],
      ['WEBHOOK_TEST', { id }],
      ['WEBHOOK_REDELIVER', { id }],
    ] as const) {
      expect({ name, ...(await other.tool(name, input)).body }).toMatchObject({ name, status: 404, code: 'not_found' });
    }
    expect((await other.tool('WEBHOOK_LIST', {})).body).toMatchObject({ items: [] });
  });

  it('needs the permission of each tool', async () => {
    const permissions = { self: ['WEBHOOK_LIST'] };
    const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'reader', permissions });
    expect((await app.tool('WEBHOOK_LIST', {}, key)).status).toBe(200);
    expect((await app.tool('WEBHOOK_ROTATE', { id: webhook.item.id }, key)).body.code).toBe('permission_denied');
  });

  it('is tested with a signed message', async () => {
    receiver.messages.length = 0;
    const tested = await succeed<WebhookTested>(app, 'WEBHOOK_TEST', { id: webhook.item.id });
    expect(tested).toEqual({ ok: true, status: 204, latency_ms: expect.any(Number) });
    const [message] = receiver.messages;
    expect(new Webhook(webhook.secret).verify(message?.body ?? '', message?.headers as never)).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      data: {},
    });
  });

  it('reports why a test failed', async () => {
    receiver.respond = answerWith(307, { location: 'https://example.com/' });
    expect(await succeed(app, 'WEBHOOK_TEST', { id: webhook.item.id })).toMatchObject({
      ok: false,
      status: 307,
      error: 'The receiver answered with 307, a redirect, which is not followed.',
    });
    receiver.respond = (response) => void response.destroy();
    expect(await succeed(app, 'WEBHOOK_TEST', { id: webhook.item.id })).toMatchObject({ ok: false, status: null });
    receiver.respond = answerWith(204);
  });
});
