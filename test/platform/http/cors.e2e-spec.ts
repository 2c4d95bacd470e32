import { beforeAll, describe, expect, it } from '@jest/globals';
import { Module, type NestModule, type MiddlewareConsumer } from '@nestjs/common';
import supertest from 'supertest';
import { createAgent, createThread } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { useStarted } from '../../support/use-started.js';

const PAGE = 'https://app.example.com';
const EXPOSED =
  'WWW-Authenticate, Mcp-Session-Id, x-request-id, x-task-id, Location, Preference-Applied, Retry-After, RateLimit, RateLimit-Policy, Content-Range, Content-Disposition, Accept-Ranges, ETag';
const CORS = /^access-control-/;

const service = useStarted(() => startTestApp({ env: { ALLOWED_ORIGINS: `${PAGE},http://localhost:5173` } }));
let threadId: string;

beforeAll(async () => {
  threadId = await createThread(service, await createAgent(service));
});

type Method = 'get' | 'post' | 'delete' | 'options';

function send(method: Method, path: string, origin: string | undefined, key?: string): supertest.Test {
  const request = supertest(service.url)[method](path);
  if (origin !== undefined) void request.set('origin', origin);
  return key === undefined ? request : request.set('authorization', `Bearer ${key}`);
}

const corsHeadersOf = ({ headers }: supertest.Response): Record<string, string> =>
  Object.fromEntries(Object.entries(headers as Record<string, string>).filter(([name]) => CORS.test(name)));

const stream = () => `/api/default/agent-runtime/threads/${threadId}/stream`;

describe('a web page of an allowed origin', () => {
  it.each<[string, Method, () => string, number]>([
    ['a tool', 'post', () => '/api/default/tools/MODEL_TIERS_GET', 200],
    ['an idle stream', 'get', () => `${stream()}?idle=204`, 204],
    ['an unknown tool', 'post', () => '/api/default/tools/NO_SUCH_TOOL', 404],
    ['an unknown route', 'get', () => '/api/default/nothing', 404],
    ['a foreign organization', 'post', () => '/api/other/tools/MODEL_TIERS_GET', 403],
  ])('reads the answer of %s', async (_what, method, path, status) => {
    const answer = await send(method, path(), PAGE, service.apiKey);
    expect({ status: answer.status, vary: answer.headers['vary'], ...corsHeadersOf(answer) }).toEqual({
      status,
      vary: 'Origin',
      'access-control-allow-origin': PAGE,
      'access-control-expose-headers': EXPOSED,
    });
  });

  it('reads the answer of MCP endpoints, also their challenge', async () => {
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const key of [service.apiKey, undefined]) {
      const answer = await send('post', '/api/default/mcp/self', PAGE, key).send(rpc);
      expect(answer.status).toBe(key === undefined ? 401 : 200);
      expect(answer.headers['www-authenticate'] === undefined).toBe(key !== undefined);
      expect(corsHeadersOf(answer)).toMatchObject({ 'access-control-allow-origin': PAGE });
    }
    const direct = await send('post', `/api/default/mcp/${crypto.randomUUID()}`, PAGE, service.apiKey).send(rpc);
    expect(direct.status).toBe(404);
    expect(corsHeadersOf(direct)).toMatchObject({ 'access-control-allow-origin': PAGE });
  });

  it('reads an open stream', async () => {
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${service.apiKey}`, origin: PAGE };
    const answer = await fetch(`${service.url}${stream()}`, { headers, signal: abort.signal });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(answer.headers.get('access-control-expose-headers')).toBe(EXPOSED);
    abort.abort();
  });

  it('reads the refusal of a missing credential, and never sends cookies', async () => {
    const answer = await send('post', '/api/default/tools/MODEL_TIERS_GET', PAGE);
    expectProblem(answer, 401, 'credential_missing');
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE);
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });

  it.each([
    ['POST', () => '/api/default/tools/MODEL_TIERS_GET'],
    ['GET', stream],
    ['POST', () => '/api/default/mcp/self'],
    ['DELETE', () => `/api/default/mcp/${crypto.randomUUID()}`],
  ])('gets its preflight of %s answered without a credential', async (method, path) => {
    const requested = 'authorization,content-type,mcp-protocol-version,last-event-id';
    const answer = await send('options', path(), PAGE)
      .set('access-control-request-method', method)
      .set('access-control-request-headers', requested);
    expect(answer.status).toBe(204);
    expect(answer.text).toBe('');
    expect(corsHeadersOf(answer)).toEqual({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': requested,
      'access-control-max-age': '600',
    });
    expect(answer.headers['vary']).toBe('Origin, Access-Control-Request-Headers');
    expect(answer.headers['x-request-id']).toBeDefined();
  });

  it('gets no other paths opened', async () => {
    for (const path of ['/health/live', '/openapi.json', '/mcp/none']) {
      expect(corsHeadersOf(await send('get', path, PAGE))).toEqual({});
    }
  });
});

describe.each(['https://evil.example', 'https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
  'a web page of %s',
  (origin) => {
    it('gets no CORS headers', async () => {
      const answer = await send('post', '/api/default/tools/MODEL_TIERS_GET', origin, service.apiKey);
      expect(answer.status).toBe(200);
      expect(corsHeadersOf(answer)).toEqual({});
      expect(answer.headers['vary']).toBe('Origin');
    });

    it('gets no preflight answered', async () => {
      const answer = await send('options', '/api/default/tools/MODEL_TIERS_GET', origin).set(
        'access-control-request-method',
        'POST',
      );
      expectProblem(answer, 404, 'unknown_route');
      expect(corsHeadersOf(answer)).toEqual({});
    });

    it('is refused by MCP endpoints', async () => {
      const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const answer = await send('post', '/api/default/mcp/self', origin, service.apiKey).send(rpc);
      expect({ status: answer.status, code: answer.body.error?.data?.code }).toEqual({
        status: 403,
        code: 'origin_refused',
      });
      expect(corsHeadersOf(answer)).toEqual({});
    });
  },
);

it('a request without an origin gets no CORS headers', async () => {
  const answer = await send('post', '/api/default/tools/MODEL_TIERS_GET', undefined, service.apiKey);
  expect({ ...corsHeadersOf(answer), vary: answer.headers['vary'] }).toEqual({});
});

it('middleware of another module keeps preflights and headers', async () => {
  @Module({})
  class MiddlewareModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply((_request: unknown, _response: unknown, next: () => void) => next()).forRoutes('*splat');
    }
  }
  const other = await startTestApp({ env: { ALLOWED_ORIGINS: PAGE }, modules: [MiddlewareModule] });
  try {
    const path = '/api/default/tools/MODEL_TIERS_GET';
    const preflight = supertest(other.url)
      .options(path)
      .set('origin', PAGE)
      .set('access-control-request-method', 'POST');
    expect((await preflight).status).toBe(204);
    const answer = await supertest(other.url)
      .post(path)
      .set('origin', PAGE)
      .set('authorization', `Bearer ${other.apiKey}`);
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE);
  } finally {
    await other.close();
  }
});
