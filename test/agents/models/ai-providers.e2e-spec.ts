import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newTenant } from '../../support/tenant.js';
import { ModelTools, NOBODY, PROVIDER_KEY } from '../../support/model-tools.js';

let tools: ModelTools;

beforeAll(async () => {
  tools = await ModelTools.start(newTenant);
});

afterAll(() => tools?.close());

describe('AI providers', () => {
  it('are created, listed, changed and deleted, and never show their key', async () => {
    const item = await tools.createProvider({ title: 'Fäke ✓', base_url: `${tools.fake.baseUrl}/` });
    expect(item).toEqual({
      id: expect.any(String),
      title: 'Fäke ✓',
      kind: 'openai-compatible',
      base_url: tools.fake.baseUrl,
      api_key: '***',
      api_version: null,
      region: null,
      access_key_id: null,
      secret_access_key: null,
      session_token: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await tools.listProviders()).toContainEqual(item);
    expect(await tools.updateProvider(item.id, { title: 'Other' })).toMatchObject({
      title: 'Other',
      api_key: '***',
      base_url: tools.fake.baseUrl,
    });
    expect(await tools.call('AI_PROVIDER_DELETE', { id: item.id })).toMatchObject({
      item: { id: item.id, title: 'Other' },
    });
    expect((await tools.listProviders()).map(({ id }) => id)).not.toContain(item.id);
  });

  it('keep their key encrypted in the database', async () => {
    const { id } = await tools.createProvider();
    const row = JSON.stringify(await tools.service.query('SELECT * FROM ai_providers WHERE id = $1', [id]));
    expect(row).toContain('"api_key":"v1.');
    expect(row).not.toContain(PROVIDER_KEY);
    expect(row).not.toContain(Buffer.from(PROVIDER_KEY).toString('base64url'));
  });

  it('need no key and, but for openai-compatible, no base URL', async () => {
    const item = await tools.createProvider({ kind: 'anthropic', base_url: null, api_key: null });
    expect(item).toMatchObject({ base_url: null, api_key: null });
    expect(await tools.storedKey(item.id)).toBeNull();
  });

  it('keep what an update leaves out, keep the key for ***, and lose it for null', async () => {
    const item = await tools.createProvider();
    expect(await tools.updateProvider(item.id, {})).toEqual(item);
    const sealed = await tools.storedKey(item.id);
    expect(await tools.updateProvider(item.id, { title: item.title, api_key: '***' })).toMatchObject({
      api_key: '***',
    });
    expect(await tools.storedKey(item.id)).toBe(sealed);
    expect(await tools.updateProvider(item.id, { api_key: null })).toMatchObject({ api_key: null });
    expect(await tools.storedKey(item.id)).toBeNull();
    expect(await tools.updateProvider(item.id, { api_key: '***' })).toMatchObject({ api_key: null });
  });

  it('take a key under an id in upper case', async () => {
    const { id } = await tools.createProvider({ api_key: null });
    await tools.updateProvider(id.toUpperCase(), { api_key: PROVIDER_KEY });
    expect(await tools.testProvider(id)).toMatchObject({ ok: true });
  });

  it('cannot lose the base URL that their kind needs, not even by two updates at once', async () => {
    const compatible = await tools.createProvider();
    const refused = await tools.service.tool('AI_PROVIDER_UPDATE', { id: compatible.id, data: { base_url: null } });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ code: 'invalid_request', errors: [{ path: 'data.base_url' }] });
    const ownAddress = { kind: 'openai', base_url: null, api_key: null };
    expect(await tools.updateProvider(compatible.id, ownAddress)).toMatchObject(ownAddress);

    const racing = await tools.createProvider({ kind: 'openai' });
    const answers = await Promise.all([
      tools.service.tool('AI_PROVIDER_UPDATE', { id: racing.id, data: { base_url: null } }),
      tools.service.tool('AI_PROVIDER_UPDATE', { id: racing.id, data: { kind: 'openai-compatible' } }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  });

  it.each([
    [{ base_url: 'http://127.0.0.1:9/v1' }, 'data.base_url'],
    [{ base_url: 'http://127.0.0.1:9/v1', api_key: '***' }, 'data.base_url'],
    [{ kind: 'openai', base_url: null }, 'data.base_url'],
  ])('never take a stored key to another server: %j', async (data, path) => {
    const { id } = await tools.createProvider();
    const before = await tools.listProviders();
    const refused = await tools.service.tool('AI_PROVIDER_UPDATE', { id, data });
    expect(refused.body).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path }] });
    expect(refused.body.detail).toContain('send api_key again, or null, in the same update');
    expect(await tools.listProviders()).toEqual(before);
  });

  it('never take a stored key to another kind, whose own address is another server', async () => {
    const { id } = await tools.createProvider({ kind: 'openai', base_url: null });
    const refused = await tools.service.tool('AI_PROVIDER_UPDATE', { id, data: { kind: 'anthropic' } });
    expect(refused.body).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path: 'data.kind' }] });
  });

  it('move to another server with a new key or with none, and on the same server with the stored one', async () => {
    const { id } = await tools.createProvider();
    const elsewhere = 'http://127.0.0.1:9/v1';
    expect(await tools.updateProvider(id, { base_url: `${tools.fake.baseUrl}/other` })).toMatchObject({
      api_key: '***',
    });
    expect(await tools.updateProvider(id, { base_url: elsewhere, api_key: PROVIDER_KEY })).toMatchObject({
      base_url: elsewhere,
      api_key: '***',
    });
    const back = { base_url: tools.fake.baseUrl, api_key: null };
    expect(await tools.updateProvider(id, back)).toMatchObject(back);
    expect(await tools.updateProvider(id, { base_url: elsewhere })).toMatchObject({ base_url: elsewhere });
  });

  it.each<[string, object, string]>([
    ['nothing', {}, 'data'],
    ['a list', { data: [] }, 'data'],
    ['no title', { data: { title: undefined } }, 'data.title'],
    ['an empty title', { data: { title: '' } }, 'data.title'],
    ['a title too long', { data: { title: 'x'.repeat(129) } }, 'data.title'],
    ['a NUL in the title', { data: { title: 'a\u0000b' } }, 'data.title'],
    ['a title that only counts as short', { data: { title: 'a\uFE0F'.repeat(128) } }, 'data.title'],
    ['an unknown kind', { data: { kind: 'other' } }, 'data.kind'],
    ['no base URL', { data: { base_url: undefined } }, 'data.base_url'],
    ['null as base URL', { data: { base_url: null } }, 'data.base_url'],
    ['an empty base URL', { data: { base_url: '' } }, 'data.base_url'],
    ['no URL', { data: { base_url: 'not a url' } }, 'data.base_url'],
    ['another scheme', { data: { base_url: 'ftp://example.com' } }, 'data.base_url'],
    ['credentials in the URL', { data: { base_url: 'https://user:pass@example.com' } }, 'data.base_url'],
    ['a query in the URL', { data: { base_url: 'https://example.com/v1?a=b' } }, 'data.base_url'],
    ['a number as key', { data: { api_key: 5 } }, 'data.api_key'],
    ['an empty key', { data: { api_key: '' } }, 'data.api_key'],
    ['a line break in the key', { data: { api_key: `${PROVIDER_KEY}\r\nx: y` } }, 'data.api_key'],
    ['a key too long', { data: { api_key: 'k'.repeat(4097) } }, 'data.api_key'],
    ['the mask as key', { data: { api_key: '***' } }, 'data.api_key'],
    ['an unknown property', { data: { apiKey: PROVIDER_KEY } }, 'data.apiKey'],
    ['an organization', { data: { organization_id: NOBODY } }, 'data.organization_id'],
  ])('are refused with %s', async (_what, body, path) => {
    const valid = { title: 'Fake', kind: 'openai-compatible', base_url: 'https://example.com/v1' };
    const data = 'data' in body && !Array.isArray(body.data) ? { data: { ...valid, ...(body.data as object) } } : body;
    const answer = await tools.service.tool('AI_PROVIDER_CREATE', data);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'invalid_request', errors: [{ path }] });
    expect(answer.text).not.toContain(PROVIDER_KEY);
  });

  it.each(['http://0.0.0.0/v1', 'http://0/v1', 'http://[ff02::1]:80/', 'https://255.255.255.255'])(
    'are refused at the address %s, when created and when changed',
    async (base_url) => {
      const { id } = await tools.createProvider();
      const data = { title: 'Fake', kind: 'openai-compatible', base_url };
      for (const answer of [
        await tools.service.tool('AI_PROVIDER_CREATE', { data }),
        await tools.service.tool('AI_PROVIDER_UPDATE', { id, data: { base_url } }),
      ]) {
        expect(answer.status).toBe(400);
        expect(answer.body).toMatchObject({ code: 'address_refused', errors: [{ path: 'data.base_url' }] });
      }
    },
  );

  it('of another organization, and unknown ones, are not found', async () => {
    const theirs = await tools.createForeignProvider();
    expect((await tools.listProviders()).map(({ id }) => id)).not.toContain(theirs);
    for (const id of [theirs, NOBODY]) {
      for (const answer of [
        await tools.service.tool('AI_PROVIDER_UPDATE', { id, data: { title: 'Mine' } }),
        await tools.service.tool('AI_PROVIDER_TEST', { id, model: 'm' }),
        await tools.service.tool('AI_PROVIDER_DELETE', { id }),
      ]) {
        expect(answer.status).toBe(404);
        expect(answer.body).toMatchObject({ code: 'not_found' });
      }
    }
  });

  it.each<[string, object, string]>([
    ['AI_PROVIDER_UPDATE', { id: 'x', data: {} }, 'id'],
    ['AI_PROVIDER_UPDATE', { id: NOBODY }, 'data'],
    ['AI_PROVIDER_UPDATE', { id: NOBODY, data: { title: null } }, 'data.title'],
    ['AI_PROVIDER_UPDATE', { id: NOBODY, data: { kind: null } }, 'data.kind'],
    ['AI_PROVIDER_DELETE', {}, 'id'],
    ['AI_PROVIDER_LIST', { limit: 1 }, 'limit'],
    ['AI_PROVIDER_TEST', { id: NOBODY }, 'model'],
    ['AI_PROVIDER_TEST', { id: NOBODY, model: 'a\nb' }, 'model'],
  ])('%s refuses %j', async (tool, body, path) => {
    const answer = await tools.service.tool(tool, body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'invalid_request', errors: [{ path }] });
  });
});
