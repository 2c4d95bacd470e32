import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOnLoopback } from '../../../src/boot/testing/loopback-server.js';
import { succeed } from '../../support/agent-runs.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { addKey, newTenant, type Tenant } from '../../support/tenant.js';

const KEY = 'sk-of-models-0123456789';
const MIB = 1024 * 1024;

interface Listed {
  models: string[];
  error?: string;
}

let tenant: Tenant;
let origin: string;
let close: () => Promise<void>;
let respond: (response: ServerResponse) => unknown;
let received: { path: string | undefined; headers: IncomingHttpHeaders };

beforeAll(async () => {
  tenant = await newTenant();
  const server = createServer(({ url, headers }, response) => {
    received = { path: url, headers };
    response.setHeader('content-type', 'application/json');
    respond(response);
  });
  ({ origin, close } = await listenOnLoopback(server));
});

afterAll(async () => {
  await tenant?.close();
  await close?.();
});

describe('AI_PROVIDER_MODELS', () => {
  it.each([
    ['openai-compatible', '/v1/models', { authorization: `Bearer ${KEY}` }],
    ['openai', '/v1/models', { authorization: `Bearer ${KEY}` }],
    ['mistral', '/v1/models', { authorization: `Bearer ${KEY}` }],
    ['anthropic', '/v1/models?limit=1000', { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' }],
  ])('asks a provider of kind %s', async (kind, path, headers) => {
    says({ object: 'list', data: [{ id: 'small', object: 'model' }, { id: 'large' }] });
    expect(await list({ kind })).toEqual({ models: ['large', 'small'] });
    expect(received).toMatchObject({ path, headers });
  });

  it('asks Google, and leaves out what generates no text', async () => {
    says({
      models: [
        { name: 'models/gemini-3-flash', supportedGenerationMethods: ['generateContent', 'countTokens'] },
        { name: 'models/text-embedding-004', supportedGenerationMethods: ['embedContent'] },
      ],
    });
    expect(await list({ kind: 'google' })).toEqual({ models: ['gemini-3-flash'] });
    expect(received).toMatchObject({ path: '/v1/models?pageSize=1000', headers: { 'x-goog-api-key': KEY } });
  });

  it('sends no key where none is stored', async () => {
    says({ data: [] });
    expect(await list({ api_key: null })).toEqual({ models: [] });
    expect(received.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['azure', { base_url: 'https://name.openai.azure.com' }],
    ['bedrock', { api_key: null, base_url: null, region: 'eu-central-1', access_key_id: 'a', secret_access_key: 'b' }],
  ])('says that the API of %s has no list', async (kind, data) => {
    const error = `This service reads no list of models from providers of kind ${kind}.`;
    expect(await list({ kind, ...data })).toEqual({ models: [], error });
  });

  it('leaves out what is no name of a model, names each once, and at most 1,000', async () => {
    const names = [7, null, undefined, '', 'a\nb', '\ud800', 'x'.repeat(257), 'zebra', 'ape', 'zebra'];
    const odd = [...names.map((id) => ({ id })), null, 'text', [1]];
    says({ data: odd });
    expect(await list()).toEqual({ models: ['ape', 'zebra'] });
    const many = Array.from({ length: 1_100 }, (_, index) => ({ id: `model-${String(index).padStart(4, '0')}` }));
    says({ data: [...odd, ...many] });
    const listed = await list();
    expect(listed.error).toBeUndefined();
    expect(listed.models).toHaveLength(1_000);
    expect(listed.models.slice(0, 2)).toEqual(['ape', 'model-0000']);
  });

  it.each([
    ['a refused key', 401, JSON.stringify({ error: { message: `No such key: ${KEY}` } }), /refused the credential/],
    ['a redirect', 307, JSON.stringify({ error: { type: 'rate_limited', message: KEY } }), /limits the rate/],
    ['an unknown address', 404, '{}', /does not know the model or the address \(HTTP 404\)/],
    ['a failure', 500, '', /is failing \(HTTP 500\)/],
    ['no JSON', 200, '<html>', /invalid response/],
    ['no list', 200, '{"data": {}}', /invalid response/],
    ['no object', 200, 'null', /invalid response/],
    ['a large list', 200, JSON.stringify({ data: [{ id: 'x'.repeat(3 * MIB) }] }), /invalid response/],
    ['too many values', 200, JSON.stringify({ data: Array.from({ length: 300_000 }, () => ({})) }), /invalid response/],
  ])('says what is wrong on %s', async (_, status, body, sentence) => {
    respond = (response) => response.writeHead(status).end(body);
    const listed = await list();
    expect(listed).toEqual({ models: [], error: expect.stringMatching(sentence) });
    expect(listed.error).not.toContain(KEY);
  });

  it('gives up a list that never ends, and its connection', async () => {
    const closed = Promise.withResolvers<void>();
    respond = (response) => response.once('close', closed.resolve).write('{"data":[');
    expect(await list()).toEqual({ models: [], error: expect.stringMatching(/in time/) });
    await closed.promise;
  });

  it('does not send a key that was moved from another provider', async () => {
    const [one, other] = [await create(), await create()];
    await tenant.query(
      'UPDATE ai_providers SET api_key = (SELECT api_key FROM ai_providers WHERE id = $2) WHERE id = $1',
      [one, other],
    );
    says({ data: [{ id: 'any' }] });
    expect(await models(one)).toEqual({ models: [], error: expect.stringMatching(/cannot be decrypted/) });
  });

  it('needs a permission of its own', async () => {
    const { key } = await addKey(tenant, { name: 'tester', permissions: { self: ['AI_PROVIDER_TEST'] } });
    await tenant.tool('AI_PROVIDER_MODELS', { id: await create() }, key).expect(403);
  });

  it('knows no provider of another organization', async () => {
    const other = await startSecondOrganization(tenant, 'models');
    const { body } = await other.tool('AI_PROVIDER_CREATE', { data: { title: 'Theirs', kind: 'openai' } });
    await tenant.tool('AI_PROVIDER_MODELS', { id: body.item.id }).expect(404);
  });
});

function says(document: object): void {
  respond = (response) => response.end(JSON.stringify(document));
}

async function create(data: object = {}): Promise<string> {
  const provider = { title: 'Models', kind: 'openai-compatible', base_url: `${origin}/v1`, api_key: KEY, ...data };
  const { item } = await succeed<{ item: { id: string } }>(tenant, 'AI_PROVIDER_CREATE', { data: provider });
  return item.id;
}

function models(id: string): Promise<Listed> {
  return succeed(tenant, 'AI_PROVIDER_MODELS', { id });
}

async function list(data: object = {}): Promise<Listed> {
  return models(await create(data));
}
