import { describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import supertest from 'supertest';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(newTenant);

/** Sends a body as it is, JSON or not. */
function send(name: string, body: string, contentType = 'application/json'): supertest.Test {
  return supertest(service.url)
    .post(`/api/${service.org}/tools/${name}`)
    .set('authorization', `Bearer ${service.apiKey}`)
    .set('content-type', contentType)
    .send(body);
}

describe('a tool call', () => {
  it('of an unknown tool is a 404', async () => {
    for (const name of ['NO_SUCH_TOOL', 'api_key_list', 'constructor', '__proto__']) {
      expectProblem(await service.tool(name), 404, 'unknown_tool');
    }
  });

  it('of a mistyped tool suggests the one that the caller can call', async () => {
    const { detail } = expectProblem(await service.tool('RUN_GETT'), 404, 'unknown_tool');
    expect(detail).toContain('Did you mean RUN_GET?');
    const { body } = await service.tool('API_KEY_CREATE', { name: 'none', permissions: {} }).expect(200);
    const denied = expectProblem(await service.tool('RUN_GETT', {}, body.key), 404, 'unknown_tool');
    expect(denied.detail).not.toContain('RUN_GET?');
  });

  it('answers the raw output, with or without a body when there is nothing to say', async () => {
    expect((await service.tool('MODEL_TIERS_GET')).body).toHaveProperty('item');
    expect((await send('MODEL_TIERS_GET', '')).body).toHaveProperty('item');
  });

  it.each([
    ['an unknown property', { name: 'k', permissions: {}, colour: 'red' }, 'colour', 'unknown_property'],
    ['a missing property', { permissions: {} }, 'name', 'required'],
    ['a value of another type', { name: 7, permissions: {} }, 'name', 'is_string'],
    ['an inherited name', { name: 'k', permissions: {}, hasOwnProperty: 1 }, 'hasOwnProperty', 'unknown_property'],
    ['a constructor', { name: 'k', permissions: {}, constructor: 1 }, 'constructor', 'unknown_property'],
    ['a NUL character', { name: 'a\u0000b', permissions: {} }, 'name', 'nul_character'],
    [
      'a NUL character deep inside',
      { name: 'k', permissions: { self: ['x', 'a\u0000'] } },
      'permissions.self[1]',
      'nul_character',
    ],
  ])('with %s names its path', async (_what, body, path, code) => {
    const problem = expectProblem(await service.tool('API_KEY_CREATE', body), 400, 'invalid_request');
    expect(problem.errors).toContainEqual({ path, code, message: expect.any(String) });
    expect(problem.detail).toContain(path);
  });

  it('with faults below the top names their paths', async () => {
    const body = { data: { title: 'T', virtual_mcp_id: 'no-uuid', extra: 1 } };
    const { errors = [] } = expectProblem(
      await service.tool('COLLECTION_THREADS_CREATE', body),
      400,
      'invalid_request',
    );
    expect(errors.map(({ path, code }) => [path, code])).toEqual(
      expect.arrayContaining([
        ['data.virtual_mcp_id', 'is_uuid'],
        ['data.extra', 'unknown_property'],
      ]),
    );
    const missing = await service.tool('COLLECTION_THREADS_CREATE', {});
    expect(expectProblem(missing, 400, 'invalid_request').errors?.[0]?.path).toBe('data');
  });

  it.each(['[]', '"text"', '7', 'true', '[{"name":"k"}]'])('with the body %s is not an object', async (body) => {
    expectProblem(await send('API_KEY_CREATE', body), 400, 'invalid_request');
  });
});

describe('a body', () => {
  it.each([
    ['that breaks off', '{"name":'],
    ['that is no JSON', 'name=k'],
    ['with a trailing comma', '{"name":"k",}'],
    ['of 10,000 arrays', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['of 10,000 objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['of 10,000 open brackets', '['.repeat(10_000)],
    ['with __proto__', '{"name":"k","permissions":{},"__proto__":{"admin":true}}'],
    ['with __proto__ deep inside', '{"name":"k","permissions":{"self":[{"__proto__":{}}]}}'],
    ['with an escaped __proto__', String.raw`{"name":"k","permissions":{},"\u005f_proto__":{"admin":true}}`],
    ['with constructor.prototype', '{"name":"k","constructor":{"prototype":{"admin":true}}}'],
  ])('%s is malformed', async (_what, body) => {
    const answer = await send('API_KEY_CREATE', body);
    expectProblem(answer, 400, 'malformed_json');
    expect(answer.text).not.toContain('admin');
  });

  it('of brackets inside a string is not deep', async () => {
    const name = '[{"\\'.repeat(12);
    expect((await send('API_KEY_CREATE', JSON.stringify({ name, permissions: {} }))).status).toBe(200);
  });

  it('of 1 MiB is read and one byte more is refused', async () => {
    const frame = JSON.stringify({ name: '', permissions: {} }).length;
    const name = 'x'.repeat(1_048_576 - frame);
    expectProblem(await send('API_KEY_CREATE', JSON.stringify({ name, permissions: {} })), 400, 'invalid_request');
    expectProblem(
      await send('API_KEY_CREATE', JSON.stringify({ name: `${name}x`, permissions: {} })),
      413,
      'body_too_large',
    );
  });

  it('without a declared length is bounded too', async () => {
    expect(await statusOfChunked('x'.repeat(65_536), 20)).toBe(413);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/xml'])(
    'of the type %s is not supported',
    async (contentType) => {
      expectProblem(await send('API_KEY_LIST', '{}', contentType), 415, 'unsupported_media_type');
    },
  );

  it('can state its charset', async () => {
    expect((await send('API_KEY_LIST', '{}', 'application/json; charset=utf-8')).status).toBe(200);
  });
});

/** Posts without a content-length until the response comes; resolves to its status. */
function statusOfChunked(chunk: string, count: number): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' };
  const request = httpRequest(
    `${service.url}/api/${service.org}/tools/API_KEY_LIST`,
    { method: 'POST', headers },
    (response) => {
      response.resume();
      resolve(response.statusCode);
    },
  );
  request.on('error', reject);
  for (let i = 0; i < count; i++) request.write(chunk);
  request.end();
  return promise;
}

describe('a path', () => {
  it.each([
    ['post', '/nowhere'],
    ['get', '/api/:org/tools/API_KEY_LIST'],
    ['delete', '/api/:org/tools'],
    ['get', '/api/:org/tools/%zz'],
    ['get', `/api/:org/agent-runtime/threads/${'x'.repeat(300)}/stream`],
  ] as const)('that is no route, %s %s, is a 404', async (method, path) => {
    const send = supertest(service.url)[method];
    const answer = await send(path.replace(':org', service.org)).set('authorization', `Bearer ${service.apiKey}`);
    expectProblem(answer, 404, 'unknown_route');
  });
});

describe('x-request-id', () => {
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  it.each(['a', 'trace_1.2-3', 'x'.repeat(128)])('%s is kept', async (id) => {
    const answer = await service.tool('MODEL_TIERS_GET').set('x-request-id', id);
    expect(answer.headers['x-request-id']).toBe(id);
    const refused = await service.tool('NO_SUCH_TOOL').set('x-request-id', id);
    expect(refused.headers['x-request-id']).toBe(id);
    expect(refused.body.request_id).toBe(id);
  });

  it.each(['', 'x'.repeat(129), 'two words', 'a,b', '"><script>', 'é'])('%p is replaced', async (id) => {
    const answer = await service.tool('MODEL_TIERS_GET').set('x-request-id', id);
    expect(answer.headers['x-request-id']).toMatch(UUID);
  });

  it('is there when none was sent, on public routes and in every answer', async () => {
    for (const path of ['/health/live', '/openapi.json', '/docs', '/nowhere']) {
      expect((await supertest(service.url).get(path)).headers['x-request-id']).toMatch(UUID);
    }
  });
});
