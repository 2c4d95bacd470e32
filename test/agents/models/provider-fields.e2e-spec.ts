import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '../../../src/boot/testing/model-server.js';
import { AWS_ACCESS, BEDROCK_FIELDS, BedrockApi, type BedrockRequest } from '../../support/model-apis/bedrock-api.js';
import { ModelTools } from '../../support/model-tools.js';
import { newTenant } from '../../support/tenant.js';

const AZURE = { kind: 'azure', base_url: 'https://name.openai.azure.com', api_key: 'azure-key-0123456789' };
const MASKED = { access_key_id: '***', secret_access_key: '***', session_token: '***' };
const NONE = { access_key_id: null, secret_access_key: null, session_token: null };
const SECRETS = [AWS_ACCESS.accessKeyId, AWS_ACCESS.secretAccessKey, AWS_ACCESS.sessionToken];

let tools: ModelTools;
let bedrock: ModelServer<BedrockRequest>;

beforeAll(async () => {
  tools = await ModelTools.start(newTenant);
  bedrock = await startModelServer(new BedrockApi(AWS_ACCESS));
});

afterAll(async () => {
  await tools?.close();
  await bedrock?.close();
});

/** Creates a provider that has no more than these fields. */
async function create(data: object): Promise<{ id: string }> {
  const created = await tools.call<{ item: { id: string } }>('AI_PROVIDER_CREATE', { data: { title: 'New', ...data } });
  expectNoSecret(created);
  return created.item;
}

async function update(id: string, data: object): Promise<object> {
  const updated = await tools.updateProvider(id, data);
  expectNoSecret(updated);
  return updated;
}

function expectNoSecret(value: unknown): void {
  for (const secret of SECRETS) expect(JSON.stringify(value)).not.toContain(secret);
}

/** The fields of a provider of kind bedrock at the test server. */
function atServer(): object {
  return { ...BEDROCK_FIELDS, base_url: bedrock.baseUrl };
}

describe('the fields of a provider', () => {
  it('are stored sealed where they are secret, and shown otherwise', async () => {
    const item = await create(BEDROCK_FIELDS);
    const expected = { kind: 'bedrock', base_url: null, api_key: null, region: 'eu-central-1', ...MASKED };
    expect(item).toMatchObject(expected);
    const listed = await tools.listProviders();
    expect(listed).toContainEqual(item);
    expectNoSecret(listed);
    const rows = await tools.service.query('SELECT * FROM ai_providers WHERE id = $1', [item.id]);
    expect(rows).toMatchObject([{ api_key: null, secrets: expect.stringMatching(/^v1\./) }]);
    expectNoSecret(rows);
    expect(await create({ ...AZURE, api_version: '2024-10-21' })).toMatchObject({
      api_key: '***',
      api_version: '2024-10-21',
      region: null,
      ...NONE,
    });
  });

  it('reach the provider, each new secret together with those that are kept', async () => {
    const { id } = await create({ ...atServer(), secret_access_key: 'wrong' });
    expect(await tools.testProvider(id)).toMatchObject({ ok: false });
    const { secret_access_key } = BEDROCK_FIELDS;
    expect(await update(id, { secret_access_key, session_token: '***' })).toMatchObject(MASKED);
    expect(await tools.testProvider(id)).toMatchObject({ ok: true });
    expect(await update(id, { title: 'Renamed', region: 'eu-central-1' })).toMatchObject(MASKED);
    expect(await tools.testProvider(id)).toMatchObject({ ok: true });
    expect(await update(id, { session_token: null })).toMatchObject({ ...MASKED, session_token: null });
    expect(await tools.testProvider(id)).toMatchObject({ ok: false });
    expect(await update(id, { session_token: '***' })).toMatchObject({ session_token: null });
  });

  it('are recorded as set and removed, without their secrets', async () => {
    const { id } = await create(BEDROCK_FIELDS);
    await update(id, { ...BEDROCK_FIELDS, session_token: null });
    await update(id, { kind: 'openai', region: null, ...NONE });
    const { items } = await tools.call<{ items: { changes: object }[] }>('AUDIT_EVENTS_LIST', {
      where: { field: ['target_id'], operator: 'eq', value: id },
    });
    expect(items.map(({ changes }) => changes).toReversed()).toMatchObject([
      { kind: { to: 'bedrock' }, region: { to: 'eu-central-1' }, key: 'set' },
      { key: 'set' },
      { kind: { from: 'bedrock', to: 'openai' }, region: { from: 'eu-central-1' }, key: 'removed' },
    ]);
    expectNoSecret(items);
  });

  it.each<[string, object, [path: string, code: string][]]>([
    ['a region and a key', { kind: 'bedrock' }, ['region', 'access_key_id', 'secret_access_key'].map(missing)],
    ['the secret part', { ...BEDROCK_FIELDS, secret_access_key: null }, [missing('secret_access_key')]],
    ['a key', { kind: 'google' }, [missing('api_key')]],
    ['a key', { kind: 'mistral', api_key: null }, [missing('api_key')]],
    ['an address and a key', { kind: 'azure' }, [missing('base_url'), missing('api_key')]],
  ])('are refused without %s: %j', async (_, data, errors) => {
    await expectRefused(data, errors);
  });

  it.each<[string, object, [path: string, code: string][]]>([
    ['api_key', { ...BEDROCK_FIELDS, api_key: 'key' }, [['data.api_key', 'is_empty']]],
    ['region', { kind: 'google', api_key: 'key', region: 'eu-central-1' }, [['data.region', 'is_empty']]],
    [
      'fields of others',
      { kind: 'openai', api_version: '2024-10-21', session_token: 'x' },
      [
        ['data.api_version', 'is_empty'],
        ['data.session_token', 'is_empty'],
      ],
    ],
    ['options', { kind: 'openai', options: {} }, [['data.options', 'unknown_property']]],
  ])('are refused with %s that the kind does not take: %j', async (_, data, errors) => {
    await expectRefused(data, errors);
  });

  it.each([
    'eu-central',
    'EU-CENTRAL-1',
    'eu-central-1.example.com',
    'eu-central-1/',
    'eu-central-1#',
    'user@host',
    'eu-central-1\n',
    '',
    '127.0.0.1:80/?',
    'x'.repeat(64),
  ])('are refused with the region %j, which becomes a part of a host name', async (region) => {
    await expectRefused({ ...BEDROCK_FIELDS, region }, [['data.region', 'matches']]);
  });

  it.each(['us-east-1', 'us-gov-west-1', 'cn-north-1', 'us-isob-east-1', 'eusc-de-east-1', 'ap-southeast-5'])(
    'can have the region %s',
    async (region) => {
      expect(await create({ ...BEDROCK_FIELDS, region })).toMatchObject({ region });
    },
  );

  it.each(['v1', 'latest', '2024-10-21&x=y', '2024-10-21 ', '../2024-10-21', ''])(
    'are refused with the version %j, which becomes a part of a query',
    async (api_version) => {
      await expectRefused({ ...AZURE, api_version }, [['data.api_version', 'matches']]);
    },
  );

  it.each<[object, string]>([
    [{ base_url: 'http://127.0.0.1:9' }, 'data.base_url'],
    [{ base_url: 'http://127.0.0.1:9', access_key_id: 'new', secret_access_key: 'new' }, 'data.base_url'],
    [{ base_url: null }, 'data.base_url'],
  ])('never take a stored secret to another server: %j', async (data, path) => {
    const { id } = await create(atServer());
    const refused = await tools.service.tool('AI_PROVIDER_UPDATE', { id, data });
    const kept = 'access_key_id' in data ? 'session_token' : 'access_key_id, secret_access_key, session_token';
    expect(refused.body).toMatchObject({ status: 400, errors: [{ path, code: 'credentials_kept' }] });
    expect(refused.body.detail).toContain(`send ${kept} again, or null, in the same update`);
    expect(await tools.testProvider(id)).toMatchObject({ ok: true });
  });

  it('never take a stored secret to another region, unless the address stays', async () => {
    const { id } = await create(BEDROCK_FIELDS);
    const moved = await tools.service.tool('AI_PROVIDER_UPDATE', { id, data: { region: 'us-east-1' } });
    expect(moved.body).toMatchObject({ status: 400, errors: [{ path: 'data.region', code: 'credentials_kept' }] });
    expect(await update(id, { ...BEDROCK_FIELDS, region: 'us-east-1' })).toMatchObject({ region: 'us-east-1' });
    const fixed = await create(atServer());
    expect(await update(fixed.id, { region: 'us-east-1' })).toMatchObject({ region: 'us-east-1', ...MASKED });
  });

  it('that a new kind does not take have to be removed with the change', async () => {
    const { id } = await create({ kind: 'google', api_key: 'google-key-0123456789' });
    const kept = await tools.service.tool('AI_PROVIDER_UPDATE', { id, data: BEDROCK_FIELDS });
    expect(kept.body).toMatchObject({ status: 400, errors: [{ path: 'data.api_key', code: 'is_empty' }] });
    expect(await update(id, { ...BEDROCK_FIELDS, api_key: null })).toMatchObject({ kind: 'bedrock', api_key: null });
  });

  it('that were sealed for another provider are not used', async () => {
    const [one, other] = [await create(atServer()), await create(atServer())];
    const move = 'UPDATE ai_providers SET secrets = (SELECT secrets FROM ai_providers WHERE id = $2) WHERE id = $1';
    await tools.service.query(move, [one.id, other.id]);
    expect(await tools.testProvider(one.id)).toMatchObject({
      ok: false,
      error: expect.stringMatching(/cannot be decrypted/),
    });
    // New ones replace them all.
    await update(one.id, BEDROCK_FIELDS);
    expect(await tools.testProvider(one.id)).toMatchObject({ ok: true });
  });
});

function missing(field: string): [path: string, code: string] {
  return [`data.${field}`, 'is_defined'];
}

async function expectRefused(data: object, errors: [path: string, code: string][]): Promise<void> {
  const answer = await tools.service.tool('AI_PROVIDER_CREATE', { data: { title: 'New', ...data } });
  expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' });
  const faults: { path: string; code: string }[] = answer.body.errors;
  expect(faults.map(({ path, code }) => [path, code])).toEqual(errors);
  expectNoSecret(answer.body);
}
