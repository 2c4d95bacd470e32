import { afterAll, beforeAll, expect } from '@jest/globals';
import supertest from 'supertest';
import { startTestApp, type TestApp } from '../../support/app.js';

interface CreatedKey {
  id: string;
  key: string;
  permissions: Record<string, string[]>;
  expires_at: string | null;
}

export interface ApiKeysApp {
  readonly service: TestApp;
  createKey(this: void, permissions: object, more?: object, maker?: string): Promise<CreatedKey>;
  listTools(this: void, credential: string | undefined, at?: { app?: TestApp; org?: string }): supertest.Test;
}

/** Starts an application for the spec file that calls this; `service` is there once `beforeAll` has run. */
export function useApiKeysApp(): ApiKeysApp {
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

  return {
    get service() {
      return service;
    },
    createKey,
    listTools,
  };
}
