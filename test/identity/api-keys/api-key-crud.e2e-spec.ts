import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useApiKeysApp } from './api-keys.support.js';
import { newTenant } from '../../support/tenant.js';

const apiKeys = useApiKeysApp(newTenant);
const { createKey } = apiKeys;

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

    const listed = await apiKeys.service.tool('API_KEY_LIST');
    expect(JSON.stringify(listed.body)).not.toContain(created.key);
    expect(listed.body.items).toContainEqual({
      id: created.id,
      name: 'reporting',
      prefix: created.key.slice(0, 12),
      permissions: { self: ['API_KEY_LIST'] },
      rate_limit: null,
      spend: null,
      maker_key: { id: expect.any(String), name: 'bootstrap' },
      expires_at: created.expires_at,
      last_used_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await apiKeys.service.tool('API_KEY_LIST', {}, created.key)).body.items).toHaveLength(
      listed.body.items.length,
    );

    const updated = await apiKeys.service.tool('API_KEY_UPDATE', { id: created.id, name: 'renamed', permissions: {} });
    expect(updated.body.item).toMatchObject({ id: created.id, name: 'renamed', permissions: {} });
    expect(JSON.stringify(updated.body)).not.toContain(created.key);
    expectProblem(await apiKeys.service.tool('API_KEY_LIST', {}, created.key), 403, 'permission_denied');

    const deleted = await apiKeys.service.tool('API_KEY_DELETE', { id: created.id });
    expect(deleted.body).toEqual({ success: true, id: created.id, children: 0 });
    expectProblem(await apiKeys.service.tool('API_KEY_LIST', {}, created.key), 401, 'credential_invalid');
    expectProblem(await apiKeys.service.tool('API_KEY_DELETE', { id: created.id }), 404, 'not_found');
    expectProblem(await apiKeys.service.tool('API_KEY_UPDATE', { id: created.id, name: 'gone' }), 404, 'not_found');
  });

  it('are stored as a hash and a readable prefix', async () => {
    const { id, key } = await createKey({});
    const rows: Record<string, unknown>[] = await apiKeys.service.query('SELECT * FROM api_keys WHERE id = $1', [id]);
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
    const before = await apiKeys.service.tool('API_KEY_LIST');
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'wrong', permissions: {}, ...fault });
    expect(expectProblem(answer, 400, 'invalid_request').errors?.[0]?.path).toBe(path);
    expect((await apiKeys.service.tool('API_KEY_LIST')).body.items).toHaveLength(before.body.items.length);
  });
});

describe('permissions of management tools', () => {
  const create = (permissions: object) => apiKeys.service.tool('API_KEY_CREATE', { name: 'key', permissions });

  it('that do not exist are refused with a suggestion, by place and without the value', async () => {
    const { errors } = expectProblem(await create({ self: ['API_KEY_LIST', 'RUN_GETT'] }), 400, 'invalid_request');
    expect(errors).toEqual([
      {
        path: 'permissions',
        code: 'known_permissions',
        message: 'The name at self[1] is not a permission of management tools. Did you mean RUN_GET?',
      },
    ]);
    expectProblem(await create({ self: ['NOTHING_OF_THE_KIND'] }), 400, 'invalid_request');
    const { id } = await createKey({});
    const change = { id, permissions: { self: ['API_KEY_LISTS'] } };
    expectProblem(await apiKeys.service.tool('API_KEY_UPDATE', change), 400, 'invalid_request');
    const role = { name: 'mistyped', permissions: { self: ['API_KEY_LISTS'] } };
    expectProblem(await apiKeys.service.tool('ROLE_CREATE', role), 400, 'invalid_request');
    const settings = { member_permissions: { self: ['API_KEY_LISTS'] } };
    expectProblem(await apiKeys.service.tool('ORGANIZATION_UPDATE', settings), 400, 'invalid_request');
  });

  it('can be words that are no tools, and tools of connections can have any name', async () => {
    const words = ['*', 'CONNECTION_STDIO', 'CONNECTION_AUTHORIZE', 'RUN_APPROVE'];
    const id = '0198f0a0-0000-7000-8000-000000000001';
    await create({ self: words, [id]: ['RUN_GETT', 'any tool'], '*': ['echo'] }).expect(200);
  });
});

describe('the number and the size of keys', () => {
  it('are limited, and keys that expired long ago are deleted', async () => {
    const neighbour = await startSecondOrganization(apiKeys.service, 'crowded');
    const database = apiKeys.service;
    const create = () => neighbour.tool('API_KEY_CREATE', { name: 'one more', permissions: {} });
    const fill = (expiresAt: string) =>
      database.query(
        `INSERT INTO api_keys (id, organization_id, user_id, name, key_prefix, key_hash, permissions, expires_at)
         SELECT gen_random_uuid(), k.organization_id, k.user_id, 'filler', 'sbx_00000000',
                encode(sha256(gen_random_uuid()::text::bytea), 'hex'), '{}', ${expiresAt}
           FROM (SELECT k.* FROM api_keys k JOIN organizations o ON o.id = k.organization_id WHERE o.slug = '${neighbour.slug}' LIMIT 1) k,
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
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'large', permissions });
    expectProblem(answer, 400, 'invalid_request');
  });

  it('accept a stored map above the limit', async () => {
    const { id, key } = await createKey({});
    const permissions = {
      self: ['API_KEY_LIST'],
      large: Array.from({ length: 3000 }, (_, n) => `tool-of-before-${n}`),
    };
    const database = apiKeys.service;
    await database.query('UPDATE api_keys SET permissions = $2 WHERE id = $1', [id, JSON.stringify(permissions)]);
    await apiKeys.service.tool('API_KEY_UPDATE', { id, name: 'renamed' }).expect(200);
    const listed = await apiKeys.service.tool('API_KEY_LIST', { limit: 1000 }, key).expect(200);
    expect(listed.body.items.find((item: { id: string }) => item.id === id)).toMatchObject({ permissions });
    await apiKeys.service.tool('API_KEY_DELETE', { id }).expect(200);
  });

  it('split a large list into several pages', async () => {
    const neighbour = await startSecondOrganization(apiKeys.service, 'large-keys');
    const permissions = { '*': Array.from({ length: 900 }, (_, n) => `${n}${'x'.repeat(27)}`) };
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

describe('keys that were made with a key', () => {
  const MAY_MAKE = { self: ['API_KEY_CREATE', 'API_KEY_DELETE', 'API_KEY_LIST', 'THREAD_TOKEN_CREATE'] };
  const remove = (input: object, key?: string) => apiKeys.service.tool('API_KEY_DELETE', input, key);
  const itemOf = async (id: string) => {
    const where = { field: ['id'], operator: 'eq', value: id };
    return (await apiKeys.service.tool('API_KEY_LIST', { where }).expect(200)).body.items[0];
  };

  it('show the key, and are deleted with it and with each other', async () => {
    const key = await createKey(MAY_MAKE, { name: 'maker' });
    const child = await createKey(MAY_MAKE, {}, key.key);
    const grandchild = await createKey(MAY_MAKE, {}, child.key);
    expect(await itemOf(child.id)).toMatchObject({ maker_key: { id: key.id, name: 'maker' } });
    const made = { where: { field: ['maker_key_id'], operator: 'eq', value: child.id } };
    const { items } = (await apiKeys.service.tool('API_KEY_LIST', made).expect(200)).body;
    expect(items.map(({ id }: { id: string }) => id)).toEqual([grandchild.id]);
    expect((await remove({ id: key.id }).expect(200)).body).toEqual({ success: true, id: key.id, children: 2 });
    for (const { key: value } of [key, child, grandchild]) {
      expectProblem(await apiKeys.service.tool('API_KEY_LIST', {}, value), 401, 'credential_invalid');
    }
    const deleted = { where: { field: ['target_id'], operator: 'in', value: [child.id, grandchild.id] } };
    const events = (await apiKeys.service.tool('AUDIT_EVENTS_LIST', deleted).expect(200)).body.items;
    expect(events.filter(({ event }: { event: string }) => event === 'key.deleted')).toHaveLength(2);
  });

  it('are kept when that is asked for, and belong to the maker of the deleted key', async () => {
    const key = await createKey(MAY_MAKE);
    const child = await createKey(MAY_MAKE, {}, key.key);
    const grandchild = await createKey(MAY_MAKE, {}, child.key);
    expectProblem(await remove({ id: child.id, children: 'both' }), 400, 'invalid_request');
    // A key that replaces itself.
    expect((await remove({ id: child.id, children: 'keep' }, child.key).expect(200)).body).toMatchObject({
      children: 1,
    });
    expect(await itemOf(grandchild.id)).toMatchObject({ maker_key: { id: key.id } });
    await apiKeys.service.tool('API_KEY_LIST', {}, grandchild.key).expect(200);
    await remove({ id: key.id }).expect(200);
    expectProblem(await apiKeys.service.tool('API_KEY_LIST', {}, grandchild.key), 401, 'credential_invalid');
  });

  it('do not survive when they are made while the key, or its maker, is deleted', async () => {
    const key = await createKey(MAY_MAKE);
    const child = await createKey(MAY_MAKE, {}, key.key);
    const making = Array.from({ length: 12 }, async (_, n) => {
      const body = { name: 'late', permissions: MAY_MAKE };
      return apiKeys.service.tool('API_KEY_CREATE', body, n % 2 === 0 ? key.key : child.key);
    });
    const [made] = await Promise.all([Promise.all(making), remove({ id: key.id }).expect(200)]);
    for (const { status, body } of made) {
      expect([200, 401]).toContain(status);
      if (status === 200)
        expectProblem(await apiKeys.service.tool('API_KEY_LIST', {}, body.key), 401, 'credential_invalid');
    }
    const left = { where: { field: ['name'], operator: 'eq', value: 'late' } };
    expect((await apiKeys.service.tool('API_KEY_LIST', left).expect(200)).body.items).toEqual([]);
  });

  it('keep the key from being deleted with more than its deleter holds', async () => {
    const deleter = await createKey(MAY_MAKE);
    const key = await createKey(MAY_MAKE);
    const child = await createKey(MAY_MAKE, { name: 'wide' }, key.key);
    await apiKeys.service.tool('API_KEY_UPDATE', { id: child.id, permissions: { self: ['*'] } }).expect(200);
    const refused = await remove({ id: key.id }, deleter.key);
    expectProblem(refused, 403, 'permission_widening');
    expect(refused.body.detail).toContain('"wide"');
    await remove({ id: key.id, children: 'keep' }, deleter.key).expect(200);
    await remove({ id: child.id }).expect(200);
  });

  it('form a line of at most eight', async () => {
    let { key } = await createKey(MAY_MAKE);
    // The bootstrap key is the first, this one the second.
    for (let place = 3; place <= 8; place++) ({ key } = await createKey(MAY_MAKE, {}, key));
    expectProblem(
      await apiKeys.service.tool('API_KEY_CREATE', { name: 'ninth', permissions: {} }, key),
      409,
      'limit_reached',
    );
  });
});
