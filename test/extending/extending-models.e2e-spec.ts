import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { AcmeModelsModule } from '../../examples/extension/acme-models/acme-models.module.js';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type FakeOpenAI, startFakeOpenAI } from '../support/fake-openai.js';
import { expectProblem } from '../support/problem.js';

const MISSING = 'This service does not support the kind acme of the AI provider.';
const OWN = ['openai-compatible', 'openai', 'anthropic', 'google', 'azure', 'bedrock', 'mistral'];
const API_KEY = 'sk-test-secret-0123456789';

let database: TestDatabase;
let fake: FakeOpenAI;
let app: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  fake = await startFakeOpenAI({ apiKey: API_KEY });
  app = await startTestApp({ database, modules: [AcmeModelsModule], env: { ROLE: 'api' } });
});
afterAll(async () => {
  await app?.close();
  await fake?.close();
  await database?.drop();
});

async function createProvider(data: object): Promise<string> {
  const { body } = await app.tool('AI_PROVIDER_CREATE', { data: { title: 'Models', ...data } }).expect(200);
  return body.item.id;
}

describe('a model kind of an extension', () => {
  it('executes runs in workers', async () => {
    const provider_id = await createProvider({ kind: 'acme', base_url: fake.baseUrl, api_key: API_KEY });
    await app.tool('MODEL_TIERS_SET', { data: { smart: { provider_id, model: 'fake-1' } } }).expect(200);
    const thread = await ThreadClient.create(app, await createAgent(app));
    const taskId = await thread.postMessage('Hello');
    const worker = await startTestApp({ database, modules: [AcmeModelsModule], env: { ROLE: 'worker' } });
    try {
      await thread.waitFor(taskId, 'completed');
    } finally {
      await worker.close();
    }
    const { body } = await app.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: thread.id }).expect(200);
    expect(body.items.at(-1)).toMatchObject({ role: 'assistant', metadata: { model: 'acme/fake-1' } });
    expect(fake.requests.at(-1)).toMatchObject({
      headers: { authorization: `Bearer ${API_KEY}`, 'x-acme-service': 'signalbox' },
      body: { model: 'fake-1' },
    });
  });

  it('is tested like any other', async () => {
    const id = await createProvider({ kind: 'acme', base_url: fake.baseUrl, api_key: API_KEY });
    const { body } = await app.tool('AI_PROVIDER_TEST', { id, model: 'fake-1' }).expect(200);
    expect(body).toMatchObject({ ok: true });
  });

  it('is one of the values that the tools take and describe', async () => {
    const { body } = await supertest(app.url).get('/openapi.json').expect(200);
    const { properties } = body.components.schemas.AiProviderData;
    const all = [...OWN, 'acme'];
    expect(properties.kind.enum.toSorted()).toEqual(all.toSorted());
    const refused = await app.tool('AI_PROVIDER_CREATE', { data: { title: 'Models', kind: 'other' } });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.detail).toContain('acme');
  });

  it('needs no base URL if it has an address of its own, which is that of no other kind', async () => {
    const id = await createProvider({ kind: 'openai', api_key: API_KEY });
    const kept = await app.tool('AI_PROVIDER_UPDATE', { id, data: { kind: 'acme' } });
    expectProblem(kept, 400, 'invalid_request');
    expect(kept.body.errors[0].code).toBe('credentials_kept');
    await app.tool('AI_PROVIDER_UPDATE', { id, data: { kind: 'acme', api_key: null } }).expect(200);
  });

  it('is refused without its module, and stored providers report the missing kind', async () => {
    const id = await createProvider({ kind: 'acme', base_url: fake.baseUrl });
    const without = await startTestApp({ database });
    try {
      const call = (name: string, body: object): supertest.Test => without.tool(name, body, app.apiKey);
      const data = { title: 'Models', kind: 'acme', base_url: fake.baseUrl };
      const refused = await call('AI_PROVIDER_CREATE', { data });
      expectProblem(refused, 400, 'invalid_request');
      expect(refused.body.errors).toEqual([
        {
          path: 'data.kind',
          code: 'is_in',
          message: `Must be one of the following kinds: ${OWN.join(', ')}.`,
        },
      ]);
      const tested = await call('AI_PROVIDER_TEST', { id, model: 'fake-1' }).expect(200);
      expect(tested.body).toMatchObject({ ok: false, error: MISSING });
      const tier = { provider_id: id, model: 'fake-1' };
      await call('MODEL_TIERS_SET', { data: { smart: tier } }).expect(200);
      const thread = await ThreadClient.create(app, await createAgent(app));
      const taskId = await thread.postMessage('Hello');
      await thread.waitFor(taskId, 'failed');
      const run = await app.tool('RUN_GET', { id: taskId }).expect(200);
      expect(run.body.item.error).toMatchObject({ message: MISSING });
    } finally {
      await without.close();
    }
  });
});
