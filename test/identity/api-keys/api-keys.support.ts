import { afterAll, beforeAll, expect } from '@jest/globals';
import supertest from 'supertest';
import type { Tenant } from '../../support/tenant.js';

interface CreatedKey {
  id: string;
  key: string;
  permissions: Record<string, string[]>;
  expires_at: string | null;
}

interface ApiKeysApp<Service extends Tenant> {
  readonly service: Service;
  createKey(this: void, permissions: object, more?: object, maker?: string): Promise<CreatedKey>;
  listTools(this: void, credential: string | undefined, at?: { app?: Tenant; org?: string }): supertest.Test;
}

/** Starts a service for the spec file that calls this; `service` is there once `beforeAll` has run. */
export function useApiKeysApp<Service extends Tenant>(start: () => Promise<Service>): ApiKeysApp<Service> {
  let service: Service;

  beforeAll(async () => {
    service = await start();
  });

  afterAll(() => service?.close());

  async function createKey(permissions: object, more: object = {}, maker?: string): Promise<CreatedKey> {
    const answer = await service.tool('API_KEY_CREATE', { name: 'made', permissions, ...more }, maker);
    expect(answer.status).toBe(200);
    return answer.body as CreatedKey;
  }

  function listTools(
    credential: string | undefined,
    { app = service, org = service.org }: { app?: Tenant; org?: string } = {},
  ): supertest.Test {
    const request = supertest(app.url).get(`/api/${org}/tools`);
    return credential === undefined ? request : request.set('authorization', credential);
  }

  return {
    get service() {
      return service;
    },
    createKey,
    listTools,
  };
}
