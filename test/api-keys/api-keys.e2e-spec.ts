import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { generateApiKey } from '../../src/common/api-key-value.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { expectProblem } from '../support/problem.js';
import { startSecondOrganization } from '../support/second-organization.js';

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
  it('are created, listed, changed and deleted, and return their value only once', async () => {
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

  it('are stored as a hash and a readable prefix', async () => {
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
    ['an unknown property', { owner: true }, 'owner'],
    [
      'a resource named like an inherited object property',
      { permissions: { toString: ['name'] } },
      'permissions.toString',
    ],
  ])('reject %s without storing anything', async (_what, fault, path) => {
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
    ['a held permission together with one not held', { self: ['API_KEY_CREATE', 'API_KEY_LIST'] }],
  ])('to %s is rejected on create and update', async (_what, permissions) => {
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
    ['the same permissions', MAKER],
    ['fewer permissions', { self: ['API_KEY_UPDATE'] }],
    ['one tool under a wildcard', { 'connection-2': ['anything'] }],
    ['the held wildcard', { 'connection-2': ['*'] }],
    ['no tools of an unknown connection', { 'connection-9': [] }],
  ])('does not apply to %s', async (_what, permissions) => {
    const maker = await createKey(MAKER);
    await expect(createKey(permissions, {}, maker.key)).resolves.toMatchObject({ permissions });
  });

  it('to management tools is not covered by the wildcard of connections', async () => {
    const maker = await createKey({ self: ['API_KEY_CREATE'], '*': ['*'] });
    await createKey({ 'connection-1': ['*'], '*': ['search'] }, {}, maker.key);
    const answer = await service.tool('API_KEY_CREATE', { name: 'w', permissions: { self: ['*'] } }, maker.key);
    expectProblem(answer, 403, 'permission_widening');
  });
});

describe('the lifetime of a key', () => {
  const RIGHTS = {
    self: ['API_KEY_CREATE', 'API_KEY_UPDATE', 'API_KEY_DELETE', 'API_KEY_LIST'],
    'connection-1': ['*'],
  };

  it.each([
    ['later than its own', { expiresIn: 3700 }],
    ['without an end', {}],
  ])('cannot be set by an expiring key to an expiry %s', async (_what, more) => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const answer = await service.tool('API_KEY_CREATE', { name: 'long', permissions: {}, ...more }, maker.key);
    expect(expectProblem(answer, 403, 'permission_widening').detail).toMatch(/expiresIn to at most 3[56]\d\d/);
  });

  it('can end before that of its maker', async () => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const made = await createKey(RIGHTS, { expiresIn: 3590 }, maker.key);
    expect(Date.parse(made.expires_at ?? '')).toBeLessThanOrEqual(Date.parse(maker.expires_at ?? ''));
  });

  it('must not exceed that of a key that grants permissions', async () => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const update = (id: string, permissions: object) => service.tool('API_KEY_UPDATE', { id, permissions }, maker.key);
    const endless = await createKey({ 'connection-1': ['search', 'read'] });
    expectProblem(await update(endless.id, { 'connection-1': ['*'] }), 403, 'permission_widening');
    const longer = await createKey({}, { expiresIn: 7200 });
    expectProblem(await update(longer.id, RIGHTS), 403, 'permission_widening');
    await update(endless.id, { 'connection-1': ['read'] }).expect(200);
    const shorter = await createKey({}, { expiresIn: 1800 });
    await update(shorter.id, RIGHTS).expect(200);
    await update(maker.id, { ...RIGHTS, 'connection-1': ['search'] }).expect(200);
  });
});

describe('a key with more permissions', () => {
  const RIGHTS = { self: ['API_KEY_UPDATE', 'API_KEY_DELETE', 'API_KEY_CREATE'] };

  it.each([
    ['a management tool', { self: ['API_KEY_LIST'] }],
    ['a permission that is not a tool', { self: ['CONNECTION_STDIO'] }],
    ['a tool of a connection', { 'connection-1': ['search'] }],
    ['everything', { self: ['*'], '*': ['*'] }],
  ])('than the caller (%s) can be neither changed nor deleted', async (_what, permissions) => {
    const caller = await createKey(RIGHTS);
    const { id, key } = await createKey({ ...RIGHTS, ...permissions });
    for (const change of [{ name: 'taken' }, { permissions: {} }, {}]) {
      expectProblem(await service.tool('API_KEY_UPDATE', { id, ...change }, caller.key), 403, 'permission_widening');
    }
    expectProblem(await service.tool('API_KEY_DELETE', { id }, caller.key), 403, 'permission_widening');
    expectProblem(
      await service.tool('API_KEY_DELETE', { id: id.toUpperCase() }, caller.key),
      403,
      'permission_widening',
    );
    expect((await listTools(`Bearer ${key}`)).status).toBe(200);
    const { body } = await service.tool('API_KEY_LIST');
    expect(body.items.find((item: { id: string }) => item.id === id)).toMatchObject({ name: 'made' });
  });

  it('does not include one with equal permissions; a key can always delete itself', async () => {
    const [caller, equal] = [await createKey(RIGHTS), await createKey(RIGHTS)];
    await service.tool('API_KEY_UPDATE', { id: equal.id, name: 'renamed' }, caller.key).expect(200);
    await service.tool('API_KEY_DELETE', { id: equal.id }, caller.key).expect(200);
    await service.tool('API_KEY_DELETE', { id: caller.id.toUpperCase() }, caller.key).expect(200);
    expectProblem(await listTools(`Bearer ${caller.key}`), 401, 'credential_invalid');
  });
});

describe('concurrent changes of keys', () => {
  const RIGHTS = { self: ['API_KEY_CREATE', 'API_KEY_UPDATE', 'API_KEY_DELETE'] };

  /** Lets this process verify and cache the key, then changes it in the database, as another process would. */
  async function changedElsewhere(change: string): Promise<string> {
    const { id, key } = await createKey({ ...RIGHTS, 'connection-1': ['*'] });
    expect((await listTools(`Bearer ${key}`)).status).toBe(200);
    await service.app.get(DataSource).query(`${change} WHERE id = $1`, [id]);
    return key;
  }

  it('reject a creation by a key that another process has deleted', async () => {
    const key = await changedElsewhere('DELETE FROM api_keys');
    const answer = await service.tool('API_KEY_CREATE', { name: 'escape', permissions: RIGHTS }, key);
    expectProblem(answer, 401, 'credential_invalid');
  });

  it.each([
    ['permissions', `UPDATE api_keys SET permissions = '{"self": ["API_KEY_CREATE"]}'`],
    ['lifetime', `UPDATE api_keys SET expires_at = now() + interval '1 hour'`],
  ])('reject a creation that exceeds the %s of a key that another process has narrowed', async (_what, change) => {
    const key = await changedElsewhere(change);
    const permissions = { 'connection-1': ['*'] };
    const answer = await service.tool('API_KEY_CREATE', { name: 'escape', permissions }, key);
    expectProblem(answer, 403, 'permission_widening');
  });

  it('are serialized, and rejected for a deleted key', async () => {
    const makers = await Promise.all(Array.from({ length: 4 }, () => createKey(RIGHTS)));
    const changes = makers.flatMap((maker, index) => {
      const other = makers[(index + 1) % makers.length] ?? maker;
      return [
        service.tool('API_KEY_UPDATE', { id: maker.id, name: 'self' }, maker.key),
        service.tool('API_KEY_UPDATE', { id: other.id, name: 'other' }, maker.key),
        service.tool('API_KEY_DELETE', { id: other.id }, maker.key),
        service.tool('API_KEY_UPDATE', { id: maker.id, permissions: {} }, other.key),
      ];
    });
    const statuses = (await Promise.all(changes)).map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 401, 403, 404].includes(status))).toEqual([]);
  });
});

describe('the number and the size of keys', () => {
  it('are limited, and keys that expired long ago are deleted', async () => {
    const neighbour = await startSecondOrganization(service.app, service.url, 'crowded');
    const database = service.app.get(DataSource);
    const create = () => neighbour.tool('API_KEY_CREATE', { name: 'one more', permissions: {} });
    const fill = (expiresAt: string) =>
      database.query(
        `INSERT INTO api_keys (id, organization_id, user_id, name, key_prefix, key_hash, permissions, expires_at)
         SELECT gen_random_uuid(), k.organization_id, k.user_id, 'filler', 'sbx_00000000',
                encode(sha256(gen_random_uuid()::text::bytea), 'hex'), '{}', ${expiresAt}
           FROM (SELECT k.* FROM api_keys k JOIN organizations o ON o.id = k.organization_id WHERE o.slug = 'crowded' LIMIT 1) k,
                generate_series(1, 1000)`,
      );
    await fill(`now() - interval '31 days'`);
    expect((await create()).status).toBe(200);
    const listed = await neighbour.tool('API_KEY_LIST', {});
    expect(listed.body).toMatchObject({ totalCount: 2, hasMore: false, nextCursor: null });
    await fill('NULL');
    const answers = await Promise.all([create(), create()]);
    for (const answer of answers) expectProblem(answer, 409, 'limit_reached');
  });

  it.each([
    ['large', Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`connection-${n}`, ['x'.repeat(200)]]))],
    ['of many resources', Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`${n}`, []]))],
    ['of many tools', { self: Array.from({ length: 1001 }, (_, n) => `${n}`) }],
  ])('reject a permission map that is %s', async (_what, permissions) => {
    const answer = await service.tool('API_KEY_CREATE', { name: 'large', permissions });
    expectProblem(answer, 400, 'invalid_request');
  });

  it('accept a stored map above the limit', async () => {
    const { id, key } = await createKey({});
    const permissions = {
      self: ['API_KEY_LIST'],
      large: Array.from({ length: 3000 }, (_, n) => `tool-of-before-${n}`),
    };
    const database = service.app.get(DataSource);
    await database.query('UPDATE api_keys SET permissions = $2 WHERE id = $1', [id, JSON.stringify(permissions)]);
    await service.tool('API_KEY_UPDATE', { id, name: 'renamed' }).expect(200);
    const listed = await service.tool('API_KEY_LIST', { limit: 1000 }, key).expect(200);
    expect(listed.body.items.find((item: { id: string }) => item.id === id)).toMatchObject({ permissions });
    await service.tool('API_KEY_DELETE', { id }).expect(200);
  });

  it('split a large list into several pages', async () => {
    const neighbour = await startSecondOrganization(service.app, service.url, 'large-keys');
    const permissions = { self: Array.from({ length: 900 }, (_, n) => `${n}${'x'.repeat(27)}`) };
    const ids: string[] = [];
    for (let n = 0; n < 150; n++) {
      const { body } = await neighbour.tool('API_KEY_CREATE', { name: 'large', permissions });
      ids.push(body.id);
    }
    const first = (await neighbour.tool('API_KEY_LIST', {})).body;
    expect(first).toMatchObject({ totalCount: 151, hasMore: true });
    const second = (await neighbour.tool('API_KEY_LIST', { cursor: first.nextCursor })).body;
    expect(second).toMatchObject({ hasMore: false, nextCursor: null });
    const listed = [...first.items, ...second.items].map((item: { id: string }) => item.id);
    expect(listed.slice(1)).toEqual(ids);
  });
});

describe('a credential', () => {
  it('that is missing gets a challenge', async () => {
    const answer = await listTools(undefined);
    expectProblem(answer, 401, 'credential_missing');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="signalbox"');
  });

  it.each([
    ['another scheme', () => `Basic ${Buffer.from('user:password').toString('base64')}`],
    ['no scheme', () => service.apiKey],
    ['an empty token', () => 'Bearer '],
    ['a malformed key', () => 'Bearer rubbish'],
    [
      'a key with a wrong checksum',
      () => `Bearer ${service.apiKey.slice(0, -1)}${service.apiKey.endsWith('0') ? 1 : 0}`,
    ],
    ['an unknown key', () => `Bearer ${generateApiKey()}`],
    ['two tokens', () => `Bearer ${service.apiKey} ${service.apiKey}`],
  ])('with %s is rejected', async (_what, credential) => {
    const answer = await listTools(credential());
    expectProblem(answer, 401, 'credential_invalid');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="signalbox",error="invalid_token"');
    expect(answer.text).not.toContain(service.apiKey.slice(4, 30));
  });

  it('has a case-insensitive scheme', async () => {
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

  it('that was deleted stops working immediately in this process and within a second in others', async () => {
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

  it('is valid for its own organization only; unknown, foreign and malformed ones get the same response', async () => {
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

  it('cannot access the keys of another organization', async () => {
    const neighbour = await startSecondOrganization(service.app, service.url, 'neighbour-2');
    const { id } = await createKey({});
    expectProblem(await neighbour.tool('API_KEY_DELETE', { id }), 404, 'not_found');
    expectProblem(await neighbour.tool('API_KEY_UPDATE', { id, name: 'taken' }), 404, 'not_found');
    const listed = await neighbour.tool('API_KEY_LIST', {});
    expect(listed.body.items.map((item: { id: string }) => item.id)).not.toContain(id);
  });
});

describe('the self permissions', () => {
  it('determine which management tools are listed and can be called', async () => {
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

  it('are empty by default', async () => {
    const { key } = await createKey({ '*': ['*'] });
    expect((await listTools(`Bearer ${key}`)).body).toEqual({ items: [] });
  });
});
