import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '../../support/problem.js';
import { useApiKeysApp } from './api-keys.support.js';
import { newTenant } from '../../support/tenant.js';
import { eventually } from '../../support/eventually.js';

const apiKeys = useApiKeysApp(newTenant);
const { createKey, listTools } = apiKeys;

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
    const created = await apiKeys.service.tool('API_KEY_CREATE', { name: 'wide', permissions }, maker.key);
    expectProblem(created, 403, 'permission_widening');
    const updated = await apiKeys.service.tool('API_KEY_UPDATE', { id: target.id, permissions }, maker.key);
    expectProblem(updated, 403, 'permission_widening');
    const itself = await apiKeys.service.tool('API_KEY_UPDATE', { id: maker.id, permissions }, maker.key);
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
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'w', permissions: { self: ['*'] } }, maker.key);
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
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'long', permissions: {}, ...more }, maker.key);
    expect(expectProblem(answer, 403, 'permission_widening').detail).toMatch(/expiresIn to at most 3[56]\d\d/);
  });

  it('can end before that of its maker', async () => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const made = await createKey(RIGHTS, { expiresIn: 3590 }, maker.key);
    expect(Date.parse(made.expires_at ?? '')).toBeLessThanOrEqual(Date.parse(maker.expires_at ?? ''));
  });

  it('must not exceed that of a key that grants permissions', async () => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const update = (id: string, permissions: object) =>
      apiKeys.service.tool('API_KEY_UPDATE', { id, permissions }, maker.key);
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

describe('a new expiry of a key', () => {
  const RIGHTS = { self: ['API_KEY_UPDATE'] };
  const update = (id: string, expiresIn: unknown, key?: string) =>
    apiKeys.service.tool('API_KEY_UPDATE', { id, expiresIn }, key);
  const remaining = ({ body }: { body: unknown }): number =>
    Date.parse((body as { item: { expires_at: string } }).item.expires_at) - Date.now();

  it('counts from now, and null removes it', async () => {
    const { id } = await createKey(RIGHTS);
    expect(Math.abs(remaining(await update(id, 3600).expect(200)) - 3_600_000)).toBeLessThan(60_000);
    expect(Math.abs(remaining(await update(id, 7200).expect(200)) - 7_200_000)).toBeLessThan(60_000);
    const endless = await update(id, null).expect(200);
    expect(endless.body.item.expires_at).toBeNull();
    const renamed = await apiKeys.service.tool('API_KEY_UPDATE', { id, name: 'renamed' }).expect(200);
    expect(renamed.body.item.expires_at).toBeNull();
    expectProblem(await update(id, '3600'), 400, 'invalid_request');
  });

  it('cannot exceed that of the calling key, also for the key itself, but can be earlier', async () => {
    const maker = await createKey(RIGHTS, { expiresIn: 3600 });
    const other = await createKey(RIGHTS, { expiresIn: 7200 });
    for (const seconds of [3_700, 8_000, null])
      expectProblem(await update(maker.id, seconds, maker.key), 403, 'permission_widening');
    for (const seconds of [8_000, null])
      expectProblem(await update(other.id, seconds, maker.key), 403, 'permission_widening');
    await update(other.id, 60, maker.key).expect(200);
    await update(maker.id, 1800, maker.key).expect(200);
    expectProblem(await update(other.id, 2_400, maker.key), 403, 'permission_widening');
    const strong = await createKey({ self: ['*'] });
    expectProblem(await update(strong.id, 1, maker.key), 403, 'permission_widening');
  });

  it('ends the key, which cannot be revived', async () => {
    const { id, key } = await createKey(RIGHTS);
    await update(id, 1).expect(200);
    await eventually(async () =>
      expectProblem(await apiKeys.service.tool('API_KEY_UPDATE', { id }, key), 401, 'credential_expired'),
    );
    for (const seconds of [60, null]) expectProblem(await update(id, seconds), 409, 'conflict');
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
      expectProblem(
        await apiKeys.service.tool('API_KEY_UPDATE', { id, ...change }, caller.key),
        403,
        'permission_widening',
      );
    }
    expectProblem(await apiKeys.service.tool('API_KEY_DELETE', { id }, caller.key), 403, 'permission_widening');
    expectProblem(
      await apiKeys.service.tool('API_KEY_DELETE', { id: id.toUpperCase() }, caller.key),
      403,
      'permission_widening',
    );
    expect((await listTools(`Bearer ${key}`)).status).toBe(200);
    const { body } = await apiKeys.service.tool('API_KEY_LIST');
    expect(body.items.find((item: { id: string }) => item.id === id)).toMatchObject({ name: 'made' });
  });

  it('does not include one with equal permissions; a key can always delete itself', async () => {
    const [caller, equal] = [await createKey(RIGHTS), await createKey(RIGHTS)];
    await apiKeys.service.tool('API_KEY_UPDATE', { id: equal.id, name: 'renamed' }, caller.key).expect(200);
    await apiKeys.service.tool('API_KEY_DELETE', { id: equal.id }, caller.key).expect(200);
    await apiKeys.service.tool('API_KEY_DELETE', { id: caller.id.toUpperCase() }, caller.key).expect(200);
    expectProblem(await listTools(`Bearer ${caller.key}`), 401, 'credential_invalid');
  });
});

describe('concurrent changes of keys', () => {
  const RIGHTS = { self: ['API_KEY_CREATE', 'API_KEY_UPDATE', 'API_KEY_DELETE'] };

  /** Lets this process verify and cache the key, then changes it in the database, as another process would. */
  async function changedElsewhere(change: string): Promise<string> {
    const { id, key } = await createKey({ ...RIGHTS, 'connection-1': ['*'] });
    expect((await listTools(`Bearer ${key}`)).status).toBe(200);
    await apiKeys.service.query(`${change} WHERE id = $1`, [id]);
    return key;
  }

  it('reject a creation by a key that another process has deleted', async () => {
    const key = await changedElsewhere('DELETE FROM api_keys');
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'escape', permissions: RIGHTS }, key);
    expectProblem(answer, 401, 'credential_invalid');
  });

  it.each([
    ['permissions', `UPDATE api_keys SET permissions = '{"self": ["API_KEY_CREATE"]}'`],
    ['lifetime', `UPDATE api_keys SET expires_at = now() + interval '1 hour'`],
  ])('reject a creation that exceeds the %s of a key that another process has narrowed', async (_what, change) => {
    const key = await changedElsewhere(change);
    const permissions = { 'connection-1': ['*'] };
    const answer = await apiKeys.service.tool('API_KEY_CREATE', { name: 'escape', permissions }, key);
    expectProblem(answer, 403, 'permission_widening');
  });

  it('are serialized, and rejected for a deleted key', async () => {
    const makers = await Promise.all(Array.from({ length: 4 }, () => createKey(RIGHTS)));
    const changes = makers.flatMap((maker, index) => {
      const other = makers[(index + 1) % makers.length] ?? maker;
      return [
        apiKeys.service.tool('API_KEY_UPDATE', { id: maker.id, name: 'self' }, maker.key),
        apiKeys.service.tool('API_KEY_UPDATE', { id: other.id, name: 'other' }, maker.key),
        apiKeys.service.tool('API_KEY_DELETE', { id: other.id }, maker.key),
        apiKeys.service.tool('API_KEY_UPDATE', { id: maker.id, permissions: {} }, other.key),
      ];
    });
    const statuses = (await Promise.all(changes)).map(({ status }) => status);
    expect(statuses.filter((status) => ![200, 401, 403, 404].includes(status))).toEqual([]);
  });
});

describe('the self permissions', () => {
  it('determine which management tools are listed and can be called', async () => {
    const everything = (await listTools(`Bearer ${apiKeys.service.apiKey}`)).body.items as { name: string }[];
    const held = ['API_KEY_LIST', 'COLLECTION_THREADS_LIST', 'CONNECTION_STDIO'];
    const { key } = await createKey({ self: held, '*': ['*'] });
    const listed = (await listTools(`Bearer ${key}`)).body.items as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(['API_KEY_LIST', 'COLLECTION_THREADS_LIST']);

    for (const { name } of everything) {
      const { status, body } = await apiKeys.service.tool(name, { not: 'valid' }, key);
      const expected = held.includes(name) ? [400, 'invalid_request'] : [403, 'permission_denied'];
      expect([name, status, body.code]).toEqual([name, ...expected]);
    }
  });

  it('are empty by default', async () => {
    const { key } = await createKey({ '*': ['*'] });
    expect((await listTools(`Bearer ${key}`)).body).toEqual({ items: [] });
  });
});
