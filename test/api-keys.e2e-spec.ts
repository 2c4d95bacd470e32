import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { generateApiKey } from '../src/common/api-key-value.js';
import { startTestApp, type TestApp } from './support/app.js';
import { expectProblem } from './support/problem.js';
import { startSecondOrganization } from './support/second-organization.js';

interface CreatedKey {
  id: string;
  key: string;
  permissions: Record<string, string[]>;
  expires_at: string | null;
}

let service: TestApp;

beforeAll(async () => {
  service = await startTestApp();
});

afterAll(() => service?.close());

async function createKey(permissions: object, more: object = {}, maker?: string): Promise<CreatedKey> {
  const answer = await service.tool('API_KEY_CREATE', { name: 'made', permissions, ...more }, maker);
  expect(answer.status).toBe(200);
  return answer.body as CreatedKey;
}

function listTools(credential: string | undefined, { app = service, org = 'default' } = {}): supertest.Test {
  const request = supertest(app.url).get(`/api/${org}/tools`);
  return credential === undefined ? request : request.set('authorization', credential);
}

describe('API keys', () => {
  it('are created, listed, changed and deleted, and show their value only once', async () => {
    const created = await createKey({ self: ['API_KEY_LIST'] }, { name: 'reporting', expiresIn: 3600 });
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'reporting',
      key: expect.stringMatching(/^sbx_[0-9A-Za-z]{49}$/),
      permissions: { self: ['API_KEY_LIST'] },
      expires_at: expect.any(String),
      created_at: expect.any(String),
    });
    expect(Date.parse(created.expires_at ?? '') - Date.now()).toBeGreaterThan(3_590_000);
    expect(Date.parse(created.expires_at ?? '') - Date.now()).toBeLessThanOrEqual(3_600_000);

    const listed = await service.tool('API_KEY_LIST');
    expect(JSON.stringify(listed.body)).not.toContain(created.key);
    expect(listed.body.items).toContainEqual({
      id: created.id,
      name: 'reporting',
      prefix: created.key.slice(0, 12),
      permissions: { self: ['API_KEY_LIST'] },
      expires_at: created.expires_at,
      last_used_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await service.tool('API_KEY_LIST', {}, created.key)).body.items).toHaveLength(listed.body.items.length);

    const updated = await service.tool('API_KEY_UPDATE', { id: created.id, name: 'renamed', permissions: {} });
    expect(updated.body.item).toMatchObject({ id: created.id, name: 'renamed', permissions: {} });
    expect(JSON.stringify(updated.body)).not.toContain(created.key);
    expectProblem(await service.tool('API_KEY_LIST', {}, created.key), 403, 'permission_denied');

    const deleted = await service.tool('API_KEY_DELETE', { id: created.id });
    expect(deleted.body).toEqual({ success: true, id: created.id });
    expectProblem(await service.tool('API_KEY_LIST', {}, created.key), 401, 'credential_invalid');
    expectProblem(await service.tool('API_KEY_DELETE', { id: created.id }), 404, 'not_found');
    expectProblem(await service.tool('API_KEY_UPDATE', { id: created.id, name: 'gone' }), 404, 'not_found');
  });

  it('are stored as a hash and a visible prefix', async () => {
    const { id, key } = await createKey({});
    const rows: Record<string, unknown>[] = await service.app
      .get(DataSource)
      .query('SELECT * FROM api_keys WHERE id = $1', [id]);
    expect(rows[0]).toMatchObject({
      key_hash: createHash('sha256').update(key).digest('hex'),
      key_prefix: key.slice(0, 12),
      expires_at: null,
    });
    expect(JSON.stringify(rows)).not.toContain(key.slice(12));
  });

  it.each([
    ['a string expiresIn', { expiresIn: '3600' }, 'expiresIn'],
    ['a null expiresIn', { expiresIn: null }, 'expiresIn'],
    ['an expiresIn of zero', { expiresIn: 0 }, 'expiresIn'],
    ['a fraction as expiresIn', { expiresIn: 1.5 }, 'expiresIn'],
    ['an expiresIn beyond all dates', { expiresIn: 1e15 }, 'expiresIn'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, 'name'],
    ['permissions that are a list', { permissions: ['self'] }, 'permissions'],
    ['permissions without lists', { permissions: { self: 'API_KEY_LIST' } }, 'permissions'],
    ['a property that is not accepted', { owner: true }, 'owner'],
    ['a resource named like what objects inherit', { permissions: { toString: ['name'] } }, 'permissions.toString'],
  ])('refuse %s, and nothing is stored', async (_what, fault, path) => {
    const before = await service.tool('API_KEY_LIST');
    const answer = await service.tool('API_KEY_CREATE', { name: 'wrong', permissions: {}, ...fault });
    expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.path).toBe(path);
    expect((await service.tool('API_KEY_LIST')).body.items).toHaveLength(before.body.items.length);
  });
});

describe('widening', () => {
  const MAKER = { self: ['API_KEY_CREATE', 'API_KEY_UPDATE'], 'connection-1': ['search'], 'connection-2': ['*'] };

  it.each([
    ['another management tool', { self: ['API_KEY_DELETE'] }],
    ['every management tool', { self: ['*'] }],
    ['another tool of a connection', { 'connection-1': ['delete'] }],
    ['every tool of a connection', { 'connection-1': ['*'] }],
    ['another connection', { 'connection-3': ['search'] }],
    ['one tool of every connection', { '*': ['search'] }],
    ['every tool of every connection', { '*': ['*'] }],
    ['something held beside something not held', { self: ['API_KEY_CREATE', 'API_KEY_LIST'] }],
  ])('to %s is refused on create and update', async (_what, permissions) => {
    const maker = await createKey(MAKER);
    const target = await createKey({}, {}, maker.key);
    const created = await service.tool('API_KEY_CREATE', { name: 'wide', permissions }, maker.key);
    expectProblem(created, 403, 'permission_widening');
    const updated = await service.tool('API_KEY_UPDATE', { id: target.id, permissions }, maker.key);
    expectProblem(updated, 403, 'permission_widening');
    const itself = await service.tool('API_KEY_UPDATE', { id: maker.id, permissions }, maker.key);
    expectProblem(itself, 403, 'permission_widening');
  });

  it.each([
    ['what is held', MAKER],
    ['less', { self: ['API_KEY_UPDATE'] }],
    ['one tool under a wildcard', { 'connection-2': ['anything'] }],
    ['the wildcard that is held', { 'connection-2': ['*'] }],
    ['nothing of anything', { 'connection-9': [] }],
  ])('is not: %s', async (_what, permissions) => {
    const maker = await createKey(MAKER);
    await expect(createKey(permissions, {}, maker.key)).resolves.toMatchObject({ permissions });
  });

  it('of every connection is not the management tools', async () => {
    const maker = await createKey({ self: ['API_KEY_CREATE'], '*': ['*'] });
    await createKey({ 'connection-1': ['*'], '*': ['search'] }, {}, maker.key);
    const answer = await service.tool('API_KEY_CREATE', { name: 'w', permissions: { self: ['*'] } }, maker.key);
    expectProblem(answer, 403, 'permission_widening');
  });
});

describe('a credential', () => {
  it('that is missing is asked for', async () => {
    const answer = await listTools(undefined);
    expectProblem(answer, 401, 'credential_missing');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="signalbox"');
  });

  it.each([
    ['another scheme', () => `Basic ${Buffer.from('user:password').toString('base64')}`],
    ['no scheme', () => service.apiKey],
    ['an empty token', () => 'Bearer '],
    ['rubbish', () => 'Bearer rubbish'],
    [
      'a key with a wrong checksum',
      () => `Bearer ${service.apiKey.slice(0, -1)}${service.apiKey.endsWith('0') ? 1 : 0}`,
    ],
    ['a key that was never made', () => `Bearer ${generateApiKey()}`],
    ['two tokens', () => `Bearer ${service.apiKey} ${service.apiKey}`],
  ])('with %s is refused', async (_what, credential) => {
    const answer = await listTools(credential());
    expectProblem(answer, 401, 'credential_invalid');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="signalbox",error="invalid_token"');
    expect(answer.text).not.toContain(service.apiKey.slice(4, 30));
  });

  it('has a scheme of any case', async () => {
    expect((await listTools(`bEARER ${service.apiKey}`)).status).toBe(200);
  });

  it('that has expired stops working', async () => {
    const { key } = await createKey({ self: ['*'] }, { expiresIn: 1 });
    expect((await listTools(`Bearer ${key}`)).status).toBe(200);
    await sleep(1050);
    const answer = await listTools(`Bearer ${key}`);
    expectProblem(answer, 401, 'credential_expired');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('that was deleted stops working at once here and within a second elsewhere', async () => {
    const other = await startTestApp({ database: service.database });
    try {
      const { id, key } = await createKey({ self: ['*'] });
      expect((await listTools(`Bearer ${key}`, { app: other })).status).toBe(200);
      await service.tool('API_KEY_DELETE', { id });
      const deletedAt = Date.now();
      expectProblem(await listTools(`Bearer ${key}`), 401, 'credential_invalid');
      let sentAt = Date.now();
      let last = await listTools(`Bearer ${key}`, { app: other });
      while (last.status === 200) {
        expect(sentAt - deletedAt).toBeLessThan(1000);
        await sleep(50);
        sentAt = Date.now();
        last = await listTools(`Bearer ${key}`, { app: other });
      }
      expectProblem(last, 401, 'credential_invalid');
    } finally {
      await other.close();
    }
  });

  it('opens its own organization only; unknown, foreign and malformed ones answer alike', async () => {
    await startSecondOrganization(service.app, service.url, 'neighbour');
    const answers = await Promise.all(
      ['neighbour', 'nobody-here', 'DEFAULT', '..', '%00'].map((org) => {
        const path = `/api/${encodeURIComponent(org)}/tools`;
        return supertest(service.url).get(path).set('authorization', `Bearer ${service.apiKey}`);
      }),
    );
    const details = answers.map((answer) => expectProblem(answer, 403, 'organization_mismatch').detail);
    expect(new Set(details).size).toBe(1);
  });

  it('does not reach the keys of another organization', async () => {
    const neighbour = await startSecondOrganization(service.app, service.url, 'neighbour-2');
    const { id } = await createKey({});
    expectProblem(await neighbour.tool('API_KEY_DELETE', { id }), 404, 'not_found');
    expectProblem(await neighbour.tool('API_KEY_UPDATE', { id, name: 'taken' }), 404, 'not_found');
    const listed = await neighbour.tool('API_KEY_LIST', {});
    expect(listed.body.items.map((item: { id: string }) => item.id)).not.toContain(id);
  });
});

describe('the self permissions', () => {
  it('decide which management tools are listed and which can be called', async () => {
    const everything = (await listTools(`Bearer ${service.apiKey}`)).body.items as { name: string }[];
    const held = ['API_KEY_LIST', 'COLLECTION_THREADS_LIST', 'NO_SUCH_TOOL'];
    const { key } = await createKey({ self: held, '*': ['*'] });
    const listed = (await listTools(`Bearer ${key}`)).body.items as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(['API_KEY_LIST', 'COLLECTION_THREADS_LIST']);

    for (const { name } of everything) {
      const { status, body } = await service.tool(name, { not: 'valid' }, key);
      const expected = held.includes(name) ? [400, 'invalid_request'] : [403, 'permission_denied'];
      expect([name, status, body.code]).toEqual([name, ...expected]);
    }
  });

  it('are none unless given', async () => {
    const { key } = await createKey({ '*': ['*'] });
    expect((await listTools(`Bearer ${key}`)).body).toEqual({ items: [] });
  });
});
