import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Controller, Module, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import supertest from 'supertest';
import { RatingsApiModule } from '../../examples/extension/ratings/ratings-api.module.js';
import { RouteAccessTable } from '../../src/identity/auth/route-access-table.js';
import { RequirePermission } from '../../src/core/require-permission.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { McpEndpoint } from '../../src/proxy/http/mcp.controller.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/problem.js';

const THREAD = 'rated';

@Controller('extension/:org/mcp')
@RequirePermission('LEDGER_READ')
class LedgerController {
  @Post()
  @McpEndpoint()
  @RequirePermission('LEDGER_CALL')
  async call(@Req() _request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await reply.send({ jsonrpc: '2.0', id: 1, result: {} });
  }
}

@Module({ controllers: [LedgerController] })
class LedgerModule {}

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  await migrate(database.url);
  app = await startTestApp({ database, modules: [RatingsApiModule, LedgerModule] });
  const agent = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent', connections: [] } });
  const thread = { id: THREAD, title: 'Rated', virtual_mcp_id: agent.body.item.id };
  await app.tool('COLLECTION_THREADS_CREATE', { data: thread }).expect(200);
});
afterAll(async () => {
  await app?.close();
  await database?.drop();
});

async function keyFor(...self: string[]): Promise<string> {
  const { body } = await app.tool('API_KEY_CREATE', { name: 'limited', permissions: { self } }).expect(200);
  return body.key;
}

function send(method: 'get' | 'post', path: string, key: string, body?: object): supertest.Test {
  const test = supertest(app.url)[method](path).set('authorization', `Bearer ${key}`);
  return body === undefined ? test : test.send(body);
}

/** Does something as an MCP client of the management tools. */
async function asClient<T>(key: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/api/default/mcp/self', app.url), { requestInit }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const namesFor = (key: string): Promise<string[]> =>
  asClient(key, async (client) => (await client.listTools()).tools.map(({ name }) => name));

describe('a management tool of an extension', () => {
  it('is called over HTTP', async () => {
    const created = await app.tool('RATING_CREATE', { thread_id: THREAD, stars: 4 }).expect(200);
    expect(created.body.item).toMatchObject({ thread_id: THREAD, stars: 4, escalated_at: null });
    const where = { field: ['stars'], operator: 'gte', value: 4 };
    const listed = await app.tool('RATING_LIST', { where }).expect(200);
    expect(listed.body).toMatchObject({ items: [created.body.item], totalCount: 1, hasMore: false });
  });

  it('is called over MCP', async () => {
    const call = { name: 'RATING_CREATE', arguments: { thread_id: THREAD, stars: 3 } };
    const result = await asClient(app.apiKey, (client) => client.callTool(call));
    expect(result.structuredContent).toMatchObject({ item: { thread_id: THREAD, stars: 3 } });
  });

  it('is listed to callers who hold its permission, and refused to others', async () => {
    const key = await keyFor('RATING_LIST');
    expect(await namesFor(app.apiKey)).toEqual(expect.arrayContaining(['RATING_CREATE', 'RATING_LIST']));
    expect(await namesFor(key)).toEqual(['RATING_LIST']);
    expectProblem(await app.tool('RATING_CREATE', { thread_id: THREAD, stars: 4 }, key), 403, 'permission_denied');
    expectProblem(
      await app.tool('RATING_CREATE', { thread_id: THREAD, stars: 4 }, 'sbx_wrong'),
      401,
      'credential_invalid',
    );
  });

  it('has its input checked, and its errors answered', async () => {
    const refused = await app.tool('RATING_CREATE', { thread_id: THREAD, stars: 6, colour: 'red' });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors.map(({ path }: { path: string }) => path).sort()).toEqual(['colour', 'stars']);
    expectProblem(await app.tool('RATING_CREATE', { thread_id: 'nowhere', stars: 5 }), 404, 'thread_not_found');
  });

  it('is in the OpenAPI document, next to the routes of the extension', async () => {
    const { body } = await supertest(app.url).get('/openapi.json').expect(200);
    expect(body.paths['/api/{org}/tools/RATING_CREATE'].post).toMatchObject({
      operationId: 'RATING_CREATE',
      summary: 'Rates a thread with one to five stars.',
      requestBody: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/RatingCreateInput' } } },
      },
    });
    expect(body.components.schemas.RatingCreateInput).toMatchObject({
      properties: { stars: { minimum: 1, maximum: 5 } },
    });
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining(['/api/{org}/ratings', '/api/{org}/ratings/report']),
    );
  });
});

describe('a route of an extension', () => {
  it('declares its access', () => {
    const declared = app.app.get(RouteAccessTable, { strict: false }).all();
    expect(declared.filter(({ path }) => path.startsWith('/api/:org/ratings'))).toEqual([
      { method: 'POST', path: '/api/:org/ratings', access: 'organization' },
      { method: 'GET', path: '/api/:org/ratings/report', access: 'organization' },
    ]);
  });

  it('needs a credential of the organization', async () => {
    const anonymous = await supertest(app.url).get('/api/default/ratings/report');
    expectProblem(anonymous, 401, 'credential_missing');
    expect(anonymous.headers['www-authenticate']).toContain('Bearer');
    expectProblem(await send('get', '/api/other/ratings/report', app.apiKey), 403, 'organization_mismatch');
  });

  it('needs the permission that it requires, and no other', async () => {
    const refused = await send('get', '/api/default/ratings/report', await keyFor('RATING_CREATE'));
    expectProblem(refused, 403, 'permission_denied');
    expect(refused.body.detail).toBe('The credential does not hold the permission self:RATINGS_REPORT.');
    const answer = await send('get', '/api/default/ratings/report', await keyFor('RATINGS_REPORT'));
    expect([answer.status, answer.body]).toEqual([200, { count: 2, average: 3.5 }]);
    const rating = { thread_id: THREAD, stars: 5 };
    expect((await send('post', '/api/default/ratings', await keyFor(), rating)).status).toBe(201);
  });

  it('has its body checked', async () => {
    const refused = await send('post', '/api/default/ratings', app.apiKey, { thread_id: THREAD, stars: '5' });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toContainEqual({
      path: 'stars',
      code: 'is_int',
      message: 'Stars must be an integer number.',
    });
    const empty = await send('post', '/api/default/ratings', app.apiKey);
    expectProblem(empty, 400, 'invalid_request');
    expect(empty.body.errors.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['thread_id', 'stars']),
    );
  });
});

describe('an MCP route of an extension', () => {
  const PATH = '/extension/default/mcp';
  const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

  it('has the permissions of its method and of its controller checked', async () => {
    const keys = [await keyFor('LEDGER_READ'), await keyFor('LEDGER_CALL')];
    for (const key of keys) {
      const refused = await send('post', PATH, key, PING);
      expect(refused.status).toBe(403);
      expect(refused.body.error.data.code).toBe('permission_denied');
    }
    const answer = await send('post', PATH, await keyFor('LEDGER_READ', 'LEDGER_CALL'), PING);
    expect(answer.body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it('asks callers for a credential', async () => {
    const refused = await supertest(app.url).post(PATH).send(PING);
    expect(refused.status).toBe(401);
    expect(refused.body.error.data.code).toBe('credential_missing');
    expect(refused.headers['www-authenticate']).toContain('Bearer realm="mcp"');
  });
});
