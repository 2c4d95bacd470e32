import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Module,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import supertest from 'supertest';
import { AuthGuard } from '../../src/identity/auth/auth.guard.js';
import { McpErrorResponder } from '../../src/proxy/http/mcp-error-responder.js';
import { startTestApp, type TestApp } from '../support/app.js';

let service: TestApp | undefined;
afterEach(() => service?.close());

const seen: string[] = [];

class Counting implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
    seen.push(`${context.getClass().name}.${context.getHandler().name}`);
    return next.handle();
  }
}

class Closed implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Counting }] })
class CountingModule {}

@Module({ providers: [{ provide: APP_GUARD, useClass: Closed }] })
class ClosedModule {}

const ping = ({ url, apiKey }: TestApp, path = '/api/default/mcp/self'): supertest.Test =>
  supertest(url).post(path).set('authorization', `Bearer ${apiKey}`).send({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe('An MCP endpoint', () => {
  it('is guarded before its body is read, and by the pipeline of Nest', async () => {
    service = await startTestApp();
    const guard = service.app.get(AuthGuard);
    const [byNest, admitted] = [jest.spyOn(guard, 'canActivate'), jest.spyOn(guard, 'admitRequest')];
    expect((await ping(service)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect((await ping({ ...service, apiKey: 'sbx_wrong' })).status).toBe(401);
    expect(byNest).toHaveBeenCalledTimes(1);
    expect(admitted).toHaveBeenCalledTimes(2);
  });

  it('answers also when the answer to an error fails', async () => {
    service = await startTestApp();
    const failing = jest.spyOn(McpErrorResponder.prototype, 'respondWithError').mockImplementation(() => {
      throw new Error('not even that');
    });
    try {
      expect((await ping({ ...service, apiKey: 'sbx_wrong' })).status).toBe(500);
    } finally {
      failing.mockRestore();
    }
    expect((await ping({ ...service, apiKey: 'sbx_wrong' })).status).toBe(401);
  });

  it('passes the interceptor that a module adds to all routes', async () => {
    service = await startTestApp({ modules: [CountingModule] });
    expect((await ping(service)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(seen).toEqual(['SelfController.post']);
  });

  it('passes the guard that a module adds to all routes', async () => {
    service = await startTestApp({ modules: [ClosedModule] });
    const { status, body } = await ping(service);
    expect(status).toBe(403);
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 1, error: { data: { code: 'permission_denied' } } });
  });

  it('answers an empty part of its path as every other route does', async () => {
    service = await startTestApp();
    for (const path of ['/api/default/mcp/', '/api//mcp/self', '/mcp/']) {
      const { status, headers } = await ping(service, path);
      expect([path, status]).toEqual([path, 404]);
      expect(headers['content-type']).toContain('application/problem+json');
    }
  });
});
