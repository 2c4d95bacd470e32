import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { type FakeOpenAI, startFakeOpenAI } from './fake-openai.js';
import { startSecondOrganization } from './second-organization.js';
import type { Tenant } from './tenant.js';

interface ProviderItem {
  id: string;
  title: string;
  kind: string;
  base_url: string | null;
  api_key: string | null;
}

/** The key that the fake provider lets in. */
export const PROVIDER_KEY = 'sk-test-secret-0123456789';
/** An id under which there is nothing. */
export const NOBODY = '00000000-0000-7000-8000-000000000000';

/** The service, a fake provider that wants a key, and the tools that bring the two together. */
export class ModelTools<Service extends Tenant = Tenant> {
  private constructor(
    readonly service: Service,
    readonly fake: FakeOpenAI,
  ) {}

  static async start<Service extends Tenant>(start: () => Promise<Service>): Promise<ModelTools<Service>> {
    return new ModelTools(await start(), await startFakeOpenAI({ apiKey: PROVIDER_KEY }));
  }

  async close(): Promise<void> {
    await this.service.close();
    await this.fake.close();
  }

  /** Calls a tool that has to succeed; no answer may ever hold a provider's key. */
  async call<T>(name: string, body: object): Promise<T> {
    const answer = await this.service.tool(name, body);
    expect(answer.text).not.toContain(PROVIDER_KEY);
    expect({ name, status: answer.status, body: answer.body }).toMatchObject({ status: 200 });
    return answer.body as T;
  }

  async createProvider(data: object = {}): Promise<ProviderItem> {
    const defaults = { title: 'Fake', kind: 'openai-compatible', base_url: this.fake.baseUrl, api_key: PROVIDER_KEY };
    const created = await this.call<{ item: ProviderItem }>('AI_PROVIDER_CREATE', { data: { ...defaults, ...data } });
    return created.item;
  }

  async updateProvider(id: string, data: object): Promise<ProviderItem> {
    return (await this.call<{ item: ProviderItem }>('AI_PROVIDER_UPDATE', { id, data })).item;
  }

  async listProviders(): Promise<ProviderItem[]> {
    return (await this.call<{ items: ProviderItem[] }>('AI_PROVIDER_LIST', {})).items;
  }

  testProvider(id: string, model = 'fake-model'): Promise<{ ok: boolean; latency_ms: number; error?: string }> {
    return this.call('AI_PROVIDER_TEST', { id, model });
  }

  /** Makes a provider in an organization of its own; returns its id. */
  async createForeignProvider(): Promise<string> {
    const { tool } = await startSecondOrganization(this.service, `other-${randomUUID()}`);
    const data = { title: 'Theirs', kind: 'openai-compatible', base_url: this.fake.baseUrl };
    const { body } = await tool('AI_PROVIDER_CREATE', { data });
    return body.item.id;
  }

  /** What the database holds as the provider's key. */
  async storedKey(id: string): Promise<string | null> {
    const rows: { api_key: string | null }[] = await this.service.query(
      'SELECT api_key FROM ai_providers WHERE id = $1',
      [id],
    );
    return rows[0]?.api_key ?? null;
  }
}
