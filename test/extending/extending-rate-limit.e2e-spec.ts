import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { startTestApp, type TestApp } from '../support/app.js';

const LIMIT = 100;
const ID = '00000000-0000-4000-8000-000000000001';

let app: TestApp;
beforeAll(async () => {
  // The package is CommonJS, and Jest requires ES modules only when they have been evaluated.
  const { RateLimitModule } = await import('../../examples/extension/rate-limit.module.js');
  app = await startTestApp({ modules: [RateLimitModule] });
});
afterAll(() => app?.close());

function send(method: 'get' | 'post', path: string): supertest.Test {
  const test = supertest(app.url)[method](path).set('authorization', `Bearer ${app.apiKey}`);
  return method === 'get' ? test : test.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
}

/** The limit is that of a method of a controller. */
async function exhaust(method: 'get' | 'post', path: string): Promise<supertest.Response> {
  const first = await send(method, path);
  expect([first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']]).toEqual(['100', '99']);
  for (let i = 1; i < LIMIT; i++) expect((await send(method, path)).status).not.toBe(429);
  const refused = await send(method, path);
  expect(refused.headers['retry-after']).toMatch(/^(?:[1-9]|[1-5]\d|60)$/);
  return refused;
}

describe('a ThrottlerGuard', () => {
  it.each([
    ['get', '/api/default/tools'],
    ['get', '/api/default/agent-runtime/threads/t/stream'],
    ['post', '/api/default/tools/API_KEY_LIST'],
  ] as const)('limits %s %s', async (method, path) => {
    const answer = await exhaust(method, path);
    expect(answer.body).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(answer.headers['content-type']).toContain('application/problem+json');
  });

  it.each(['/api/default/mcp/self', `/api/default/mcp/${ID}`, `/api/default/mcp/${ID}/call-tool/echo`])(
    'limits %s',
    async (path) => {
      const answer = await exhaust('post', path);
      expect(answer.status).toBe(429);
      expect(answer.body).toMatchObject({
        jsonrpc: '2.0',
        error: { code: -32000, data: { code: 'too_many_requests' } },
      });
    },
  );
});
