import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listenOnLoopback } from '../../../src/boot/testing/loopback-server.js';
import { succeed } from '../../support/agent-runs.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { newTenant, type Tenant } from '../../support/tenant.js';

const KEY = 'sk-of-models-0123456789';
const MIB = 1024 * 1024;

interface Listed {
  models: string[];
  error?: string;
}

let tenant: Tenant;
let origin: string;
let close: () => Promise<void>;
let answer = { status: 200, body: '' };
let received: { path: string | undefined; headers: IncomingHttpHeaders };

beforeAll(async () => {
  tenant = await newTenant();
  const server = createServer(({ url, headers }, response) => {
    received = { path: url, headers };
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
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
    const error = `The API of the kind ${kind} has no list of names that a tier takes.`;
    expect(await list({ kind, ...data })).toEqual({ models: [], error });
  });

  it('leaves out what is no name of a model, names each once, and at most 1,000', async () => {
    const odd = [{ id: 7 }, { id: null }, {}, { id: '' }, { id: 'a\nb' }, { id: 'x'.repeat(257) }, null, 'text', [1]];
    const many = Array.from({ length: 1_100 }, (_, index) => ({ id: `model-${String(index).padStart(4, '0')}` }));
    says({ data: [...odd, ...many, ...many] });
    const { models, error } = await list();
    expect(error).toBeUndefined();
    expect(models).toHaveLength(1_000);
    expect([models[0], models.at(-1)]).toEqual(['model-0000', 'model-0999']);
  });

  it.each([
    [401, JSON.stringify({ error: { message: `No such key: ${KEY}` } }), /refused the credential/],
    [307, '', /invalid response/],
    [404, '{}', /does not know the model or the address \(HTTP 404\)/],
    [500, '', /is failing \(HTTP 500\)/],
    [200, '<html>', /invalid response/],
    [200, '{"data": {}}', /invalid response/],
    [200, 'null', /invalid response/],
    [200, JSON.stringify({ data: [{ id: 'x'.repeat(5 * MIB) }] }), /invalid response/],
  ])('says what is wrong on %s %.20s', async (status, body, sentence) => {
    answer = { status, body };
    const listed = await list();
    expect(listed).toEqual({ models: [], error: expect.stringMatching(sentence) });
    expect(listed.error).not.toContain(KEY);
  });

  it('knows no provider of another organization', async () => {
    const other = await startSecondOrganization(tenant, 'models');
    const { body } = await other.tool('AI_PROVIDER_CREATE', { data: { title: 'Theirs', kind: 'openai' } });
    await tenant.tool('AI_PROVIDER_MODELS', { id: body.item.id }).expect(404);
  });
});

function says(document: object): void {
  answer = { status: 200, body: JSON.stringify(document) };
}

async function list(data: object = {}): Promise<Listed> {
  const provider = { title: 'Models', kind: 'openai-compatible', base_url: `${origin}/v1`, api_key: KEY, ...data };
  const { item } = await succeed<{ item: { id: string } }>(tenant, 'AI_PROVIDER_CREATE', { data: provider });
  return succeed(tenant, 'AI_PROVIDER_MODELS', { id: item.id });
}
