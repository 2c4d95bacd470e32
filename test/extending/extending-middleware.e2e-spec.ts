import { setImmediate as nextTick } from 'node:timers/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ConflictException,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestMiddleware,
  type NestModule,
  RequestMethod,
} from '@nestjs/common';
import supertest from 'supertest';
import { HealthController } from '../../src/platform/health/health.controller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { expectProblem } from '../support/problem.js';
import { RawConnection, requestText } from '../support/raw-http.js';

type Next = (error?: unknown) => void;

const ID = '00000000-0000-4000-8000-000000000001';
const MCP_PATH = `/api/default/mcp/${ID}`;
const TOOL_PATH = '/api/default/tools/API_KEY_LIST';
const ROUTES = [
  ['POST', TOOL_PATH],
  ['GET', '/api/default/tools'],
  ['POST', '/api/default/agent-runtime/threads/t/messages'],
  ['GET', '/api/default/agent-runtime/threads/t/stream'],
  ['POST', '/api/default/mcp/self'],
  ['POST', MCP_PATH],
  ['POST', `/api/default/mcp/gateway/${ID}`],
  ['POST', `${MCP_PATH}/call-tool/echo`],
  ['POST', `/mcp/${ID}`],
  ['GET', '/health/live'],
  ['GET', '/openapi.json'],
  ['GET', '/docs'],
  ['GET', '/nowhere'],
] as const;

const seen: string[] = [];

/** `url` is what is left behind the path that the middleware is for. */
function everywhere(request: IncomingMessage & { originalUrl?: string }, response: ServerResponse, next: Next): void {
  seen.push(`every ${request.originalUrl}`);
  response.setHeader('x-extension', 'yes');
  next();
}

/** Does as the header asks. */
@Injectable()
class Behaviour implements NestMiddleware {
  async use(request: IncomingMessage, response: ServerResponse, next: Next): Promise<void> {
    await nextTick();
    const wanted = request.headers['x-do'];
    if (wanted === 'throw') throw new ConflictException('Refused by middleware.');
    if (wanted === 'throw nothing') throw undefined;
    if (wanted === 'next') return next(new ConflictException('Refused by middleware.'));
    if (wanted === 'answer') return void response.writeHead(202).end('by middleware');
    next();
  }
}

const note =
  (what: string) =>
  (_request: IncomingMessage, _response: ServerResponse, next: Next): void => {
    seen.push(what);
    next();
  };

@Module({})
class MiddlewareModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(everywhere, Behaviour).forRoutes('*splat');
    consumer.apply(note('mcp')).forRoutes({ path: 'api/:org/mcp/:connectionId', method: RequestMethod.POST });
    consumer.apply(note('tools')).forRoutes('api/:org/tools/:name');
    consumer.apply(note('health')).forRoutes(HealthController);
  }
}

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    modules: [MiddlewareModule],
    beforeListening: (nest) => nest.use(note('app.use')),
  });
});
beforeEach(() => void seen.splice(0));
afterAll(() => app?.close());

function send(method: 'GET' | 'POST', path: string, wanted = 'pass', key = app.apiKey): supertest.Test {
  const test = method === 'GET' ? supertest(app.url).get(path) : supertest(app.url).post(path);
  void test.set({ authorization: `Bearer ${key}`, 'x-request-id': 'request-7', 'x-do': wanted });
  return method === 'GET' ? test : test.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
}

describe('middleware of a module', () => {
  it.each(ROUTES)('runs on every route: %s %s', async (method, path) => {
    const answer = await send(method, path);
    expect(seen).toContain(`every ${path}`);
    expect(answer.headers).toMatchObject({ 'x-extension': 'yes', 'x-content-type-options': 'nosniff' });
    if (!path.startsWith('/nowhere')) expect(answer.body.code).not.toBe('unknown_route');
  });

  it.each([
    ['POST', MCP_PATH, ['mcp']],
    ['GET', MCP_PATH, []],
    ['POST', `${MCP_PATH}/call-tool/echo`, []],
    ['POST', TOOL_PATH, ['tools']],
    ['GET', '/health/live', ['health']],
  ] as const)('runs on the routes that it names: %s %s', async (method, path, names) => {
    await send(method, path);
    expect(seen.filter((what) => !what.startsWith('every '))).toEqual(['app.use', ...names]);
  });

  it('leaves the answers as they are', async () => {
    expect((await send('POST', '/api/default/mcp/self')).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await send('GET', '/api/default/tools')).body.items.length).toBeGreaterThan(10);
    expect((await send('GET', '/api/default/tools')).headers['cache-control']).toBe('no-store');
  });

  it('runs before the credential is verified, which is done before the body is read', async () => {
    for (const path of [TOOL_PATH, '/api/default/mcp/self']) {
      seen.splice(0);
      const connection = await RawConnection.open(app.url);
      try {
        connection.send(
          requestText('POST', path, { 'content-type': 'application/json', 'content-length': 1_048_576 }, '{'),
        );
        expect(await connection.closed()).toMatch(/^HTTP\/1\.1 401 [^]*credential_missing/);
      } finally {
        connection.close();
      }
      expect(seen).toContain(`every ${path}`);
    }
  });

  it.each(['throw', 'next'])('refuses in the form of the route: %s', async (wanted) => {
    const onTool = await send('POST', TOOL_PATH, wanted);
    expectProblem(onTool, 409, 'conflict');
    expect(onTool.body.detail).toBe('Refused by middleware.');
    const onMcp = await send('POST', MCP_PATH, wanted);
    expect(onMcp.status).toBe(409);
    expect(onMcp.body).toMatchObject({
      jsonrpc: '2.0',
      error: { data: { code: 'conflict', request_id: 'request-7' } },
    });
    expect(onMcp.headers['x-request-id']).toBe('request-7');
  });

  it('refuses also with nothing', async () => {
    expectProblem(await send('POST', TOOL_PATH, 'throw nothing'), 500, 'internal');
  });

  it.each([TOOL_PATH, MCP_PATH])('responds directly, with the headers of every response: %s', async (path) => {
    const answer = await send('POST', path, 'answer', 'sbx_wrong');
    expect([answer.status, answer.text]).toEqual([202, 'by middleware']);
    expect(answer.headers).toMatchObject({ 'x-request-id': 'request-7', 'x-content-type-options': 'nosniff' });
  });
});

describe('an application without middleware', () => {
  let bare: TestApp | undefined;
  afterEach(() => bare?.close());

  it('looks for none', async () => {
    bare = await startTestApp();
    expect(bare.app.getHttpAdapter().getInstance().hasDecorator('use')).toBe(false);
    expect(app.app.getHttpAdapter().getInstance().hasDecorator('use')).toBe(true);
  });
});
