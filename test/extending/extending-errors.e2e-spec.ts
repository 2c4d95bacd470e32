import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  ServiceUnavailableException,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import supertest from 'supertest';
import { Access } from '../../src/core/access.js';
import { DomainError } from '../../src/core/domain-error.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { expectProblem } from '../support/problem.js';

const MESSAGE = 'Refused by the extension.';
const ROUTES = [
  ['a management tool', 'POST', '/api/default/tools/API_KEY_LIST'],
  ['the list of tools', 'GET', '/api/default/tools'],
  ['a run', 'POST', '/api/default/agent-runtime/threads/t/messages'],
  ['a stream', 'GET', '/api/default/agent-runtime/threads/t/stream'],
  ['a probe', 'GET', '/health/live'],
  ['the route of the extension', 'GET', '/extension/default/rates'],
] as const;
const MCP_ROUTES = [
  ['the own MCP server', '/api/default/mcp/self'],
  ['a connection', '/api/default/mcp/00000000-0000-4000-8000-000000000001'],
  ['an agent', '/api/default/mcp/gateway/00000000-0000-4000-8000-000000000001'],
  ['a streamed tool', '/api/default/mcp/00000000-0000-4000-8000-000000000001/call-tool/echo'],
  ['the legacy path', '/mcp/00000000-0000-4000-8000-000000000001'],
] as const;

/** Refuses every request with the status that it asks for. */
class RefusingGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const status = http.getRequest<FastifyRequest>().headers['x-refuse-with'];
    if (status === undefined) return true;
    http.getResponse<FastifyReply>().header('retry-after', '7');
    throw new HttpException(MESSAGE, Number(status));
  }
}

@Controller('extension/:org')
@Access('organization')
class RatesController {
  @Get('rates')
  rates(): never {
    throw new ServiceUnavailableException('rates-db:5432 refused the password "hunter2"');
  }

  @Get('closed')
  closed(): never {
    throw new DomainError('service_unavailable', 'The rates are back at 06:00.');
  }
}

@Module({ controllers: [RatesController], providers: [{ provide: APP_GUARD, useClass: RefusingGuard }] })
class RefusingModule {}

let app: TestApp;
const lines: string[] = [];
beforeAll(async () => {
  app = await startTestApp({
    modules: [RefusingModule],
    env: { LOG_LEVEL: 'error' },
    onLogLine: (line) => lines.push(line),
  });
});
afterAll(() => app?.close());

function send(method: 'GET' | 'POST', path: string, refuseWith?: number): supertest.Test {
  const test = method === 'GET' ? supertest(app.url).get(path) : supertest(app.url).post(path);
  void test.set('authorization', `Bearer ${app.apiKey}`).set('x-request-id', 'request-7');
  if (refuseWith !== undefined) void test.set('x-refuse-with', String(refuseWith));
  return method === 'GET' ? test : test.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
}

describe.each([
  [409, 'conflict'],
  [422, 'unprocessable_entity'],
  [429, 'too_many_requests'],
  [451, 'invalid_request'],
])('an HttpException of %d', (status, code) => {
  it.each(ROUTES)('is a problem document on %s', async (_route, method, path) => {
    const answer = await send(method, path, status);
    expectProblem(answer, status, code);
    expect(answer.body.detail).toBe(MESSAGE);
    expect(answer.headers).toMatchObject({ 'retry-after': '7', 'x-request-id': 'request-7' });
  });

  it.each(MCP_ROUTES)('is a JSON-RPC error on %s', async (_route, path) => {
    const answer = await send('POST', path, status);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '7',
      'x-request-id': 'request-7',
    });
    expect(answer.body).toEqual({
      jsonrpc: '2.0',
      id: path.includes('call-tool') ? 'request-7' : 1,
      error: { code: -32000, message: MESSAGE, data: { code, request_id: 'request-7' } },
    });
  });
});

describe('an HttpException of 500 or more', () => {
  it('keeps its status and shows its message only in the log', async () => {
    const answer = await send('GET', '/extension/default/rates');
    expectProblem(answer, 503, 'service_unavailable');
    expect(answer.text).not.toContain('hunter2');
    expect(lines.filter((line) => line.includes('hunter2') && line.includes('request-7'))).toHaveLength(1);
  });

  it('has the same on MCP routes', async () => {
    const answer = await send('POST', '/api/default/mcp/self', 502);
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ id: 1, error: { data: { code: 'bad_gateway' } } });
    expect(answer.text).not.toContain(MESSAGE);
  });

  it('has a detail as a DomainError', async () => {
    const answer = await send('GET', '/extension/default/closed');
    expectProblem(answer, 503, 'service_unavailable');
    expect(answer.body.detail).toBe('The rates are back at 06:00.');
  });
});

describe('what is refused without an extension', () => {
  it('shows no URL of an unknown route', async () => {
    const answer = await send('GET', '/nowhere/secret');
    expectProblem(answer, 404, 'unknown_route');
    expect(answer.text).not.toContain('secret');
  });
});
