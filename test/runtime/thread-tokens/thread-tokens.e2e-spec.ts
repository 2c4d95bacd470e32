import { beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { Access } from '../../../src/core/access.js';
import { newId } from '../../../src/core/ids.js';
import { createAgent, createThread, openStream } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

/** A route of a platform team that knows nothing of browser tokens. */
@Controller('api/:org/threads/:threadId/notes')
@Access('organization')
class NotesController {
  @Get()
  list(): object {
    return { notes: [] };
  }
}

@Module({ controllers: [NotesController] })
class NotesModule {}

const THREAD_TOOLS = ['THREAD_TOKEN_CREATE', 'COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST', 'RUN_GET'];

const service = useStarted(() =>
  startTestApp({ modules: [NotesModule], env: { TRACE_URL: 'https://traces.example/{traceId}' } }),
);
let database: DataSource;
let agentId: string;
let threadId: string;
let otherThreadId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  agentId = await createAgent(service);
  threadId = await createThread(service, agentId);
  otherThreadId = await createThread(service, agentId);
});

async function makeKey(permissions: object, more: object = {}): Promise<{ id: string; key: string }> {
  return (await service.tool('API_KEY_CREATE', { name: 'key', permissions, ...more }).expect(200)).body;
}

async function makeToken(permissions: readonly string[], key?: string, more: object = {}): Promise<string> {
  const { body } = await service
    .tool('THREAD_TOKEN_CREATE', { thread_id: threadId, permissions, ...more }, key)
    .expect(200);
  return body.token;
}

const messageFor = (text: string): object => ({
  messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
  agent: { id: agentId },
});

function post(token: string, thread = threadId, text = 'hello'): supertest.Test {
  return request('post', `/api/default/agent-runtime/threads/${thread}/messages`, token).send(messageFor(text));
}

function request(method: 'get' | 'post', path: string, token: string): supertest.Test {
  return supertest(service.url)[method](path).set('authorization', `Bearer ${token}`);
}

const cancel = (token: string, thread = threadId) =>
  request('post', `/api/default/agent-runtime/threads/${thread}/cancel`, token).send({});
const peek = (token: string, thread = threadId) =>
  request('get', `/api/default/agent-runtime/threads/${thread}/stream?idle=204`, token);

describe('a browser token', () => {
  it('with all permissions posts, streams, reads and cancels on its thread', async () => {
    const { body } = await service
      .tool('THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: ['post', 'read', 'cancel', 'approve'] })
      .expect(200);
    expect(body).toEqual({ token: expect.stringMatching(/^sbt_[0-9A-Za-z]{49}$/), expires_at: expect.any(String) });
    const lifetime = Date.parse(body.expires_at) - Date.now();
    expect(lifetime).toBeGreaterThan(890_000);
    expect(lifetime).toBeLessThanOrEqual(900_000);

    const stream = await openStream(service.url, 'default', threadId, body.token);
    const { taskId } = (await post(body.token).expect(202)).body;
    const { chunks } = await stream.collectUntilDone();
    expect(chunks.at(0)).toMatchObject({ type: 'start', messageMetadata: { taskId } });
    const thread = await service.tool('COLLECTION_THREADS_GET', { id: threadId }, body.token).expect(200);
    expect(thread.body.item).toMatchObject({ id: threadId });
    const page = await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId }, body.token).expect(200);
    expect(page.body.items).toHaveLength(2);
    await database.query('UPDATE runs SET cost_usd = 1, traceparent = $2, model_calls = $3 WHERE id = $1', [
      taskId,
      `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      JSON.stringify([[1, 1, 0, 5, 0, 1, 0, 1, 1, null]]),
    ]);
    const run = await service.tool('RUN_GET', { id: taskId }, body.token).expect(200);
    expect(run.body.item).toMatchObject({ id: taskId, thread_id: threadId });
    // Not what the operator pays, and where the traces are.
    const internals = { cost_usd: null, trace_url: null, model_calls: [{ step: 1, cost_usd: null }] };
    expect(run.body.item).toMatchObject(internals);
    const { item } = (await service.tool('RUN_GET', { id: taskId }).expect(200)).body;
    expect(item).toMatchObject({ cost_usd: 1, trace_url: `https://traces.example/${'a'.repeat(32)}` });
    expect((await cancel(body.token).expect(202)).body).toEqual({ taskIds: [] });
  });

  it.each(['post', 'read', 'cancel', 'approve'])('with %s opens nothing else', async (permission) => {
    const token = await makeToken([permission]);
    const opened = {
      stream: (await peek(token)).ok,
      post: (await post(token)).status,
      cancel: (await cancel(token)).status,
      thread: (await service.tool('COLLECTION_THREADS_GET', { id: threadId }, token)).status,
      messages: (await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId }, token)).status,
    };
    const reads = permission === 'read';
    expect(opened).toEqual({
      post: permission === 'post' ? 202 : 403,
      cancel: permission === 'cancel' ? 202 : 403,
      stream: reads,
      thread: reads ? 200 : 403,
      messages: reads ? 200 : 403,
    });
  });

  it('opens no other thread', async () => {
    const token = await makeToken(['post', 'read', 'cancel']);
    const key = service.apiKey;
    const { taskId } = (await post(key, otherThreadId).expect(202)).body;
    for (const refused of [
      await post(token, otherThreadId),
      await cancel(token, otherThreadId),
      await peek(token, otherThreadId),
      await service.tool('COLLECTION_THREADS_GET', { id: otherThreadId }, token),
      await service.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: otherThreadId }, token),
      await service.tool('RUN_GET', { id: taskId }, token),
    ]) {
      expectProblem(refused, 403, 'permission_denied');
    }
  });

  it('opens no other tool, no list of tools, no MCP endpoint and no route of another team', async () => {
    const token = await makeToken(['post', 'read', 'cancel', 'approve']);
    for (const [name, input] of [
      ['API_KEY_CREATE', { name: 'mine', permissions: {} }],
      ['THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: ['read'] }],
      ['COLLECTION_THREADS_LIST', {}],
      ['COLLECTION_THREADS_UPDATE', { id: threadId, data: { title: 'mine' } }],
      ['COLLECTION_THREADS_DELETE', { id: threadId }],
      ['RUN_LIST', {}],
      ['MONITORING_LOGS_LIST', {}],
    ] as const) {
      expectProblem(await service.tool(name, input, token), 403, 'permission_denied');
    }
    expectProblem(await request('get', '/api/default/tools', token), 403, 'permission_denied');
    expectProblem(await request('get', `/api/default/threads/${threadId}/notes`, token), 403, 'permission_denied');
    const own = request('get', `/api/default/threads/${threadId}/notes`, service.apiKey);
    await own.expect(200);
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const path of [
      '/api/default/mcp/self',
      `/api/default/mcp/${agentId}`,
      `/api/default/mcp/gateway/${agentId}`,
      `/mcp/${agentId}`,
    ]) {
      const answer = await request('post', path, token).set('accept', 'application/json, text/event-stream').send(rpc);
      expect({ path, status: answer.status, error: answer.body.error }).toMatchObject({
        path,
        status: 403,
        error: { code: -32_000, data: { code: 'permission_denied' } },
      });
    }
  });

  it('belongs to its organization', async () => {
    const token = await makeToken(['read']);
    await startSecondOrganization(service, 'second');
    const foreign = request('get', `/api/second/agent-runtime/threads/${threadId}/stream?idle=204`, token);
    expectProblem(await foreign, 403, 'organization_mismatch');
  });

  it('posts in the name of the key that made it, and is on record with it', async () => {
    const maker = await makeKey({ self: THREAD_TOOLS });
    const token = await makeToken(['post', 'read'], maker.key);
    const { taskId } = (await post(token).expect(202)).body;
    const run = (await service.tool('RUN_GET', { id: taskId }).expect(200)).body.item;
    expect(run).toMatchObject({ api_key_id: maker.id, user_id: null });
    await service.tool('COLLECTION_THREADS_LIST', {}, token).set('x-request-id', 'by-token').expect(403);
    const where = { field: ['request_id'], operator: 'eq', value: 'by-token' };
    expect((await service.tool('MONITORING_LOGS_LIST', { where }).expect(200)).body.items).toMatchObject([
      { door: 'api', status: 'denied', api_key_id: maker.id },
    ]);
  });

  it('is stored as a hash only', async () => {
    const token = await makeToken(['read']);
    const rows = await database.query('SELECT * FROM thread_tokens');
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(JSON.stringify(rows)).not.toContain(token.slice(4, 20));
  });
});

describe('THREAD_TOKEN_CREATE', () => {
  const create = (input: object, key?: string) => service.tool('THREAD_TOKEN_CREATE', input, key);

  it.each([
    ['permissions', { permissions: [] }],
    ['permissions', { permissions: ['write'] }],
    ['permissions', { permissions: ['read', 'read'] }],
    ['permissions', { permissions: 'read' }],
    ['expiresIn', { permissions: ['read'], expiresIn: 3601 }],
    ['expiresIn', { permissions: ['read'], expiresIn: 0 }],
    ['expiresIn', { permissions: ['read'], expiresIn: '900' }],
    ['thread_id', { permissions: ['read'], thread_id: 'no thread' }],
  ])('rejects an invalid %s: %j', async (path, input) => {
    const problem = expectProblem(await create({ thread_id: threadId, ...input }), 400, 'invalid_request');
    expect(problem.errors?.[0]?.path).toContain(path);
  });

  it('requires a thread of the organization', async () => {
    expectProblem(await create({ thread_id: newId(), permissions: ['read'] }), 404, 'thread_not_found');
    const second = await startSecondOrganization(service, 'third');
    const foreign = await second.tool('THREAD_TOKEN_CREATE', { thread_id: threadId, permissions: ['read'] });
    expectProblem(foreign, 404, 'thread_not_found');
  });

  it('requires its own permission, and what the caller itself can do with the thread', async () => {
    const input = { thread_id: threadId, permissions: ['read'] };
    expectProblem(await create(input, (await makeKey({ '*': ['*'] })).key), 403, 'permission_denied');
    const { key } = await makeKey({ self: ['THREAD_TOKEN_CREATE', 'COLLECTION_THREADS_GET'] });
    const problem = expectProblem(await create(input, key), 403, 'permission_widening');
    expect(problem.detail).toContain('COLLECTION_THREAD_MESSAGES_LIST');
    expectProblem(await create({ ...input, permissions: ['approve'] }, key), 403, 'permission_widening');
    await create({ ...input, permissions: ['post', 'cancel'] }, key).expect(200);
  });

  it('opens RUN_GET only if the caller holds it', async () => {
    const { key } = await makeKey({ self: THREAD_TOOLS.filter((name) => name !== 'RUN_GET') });
    const token = await makeToken(['read'], key);
    await service.tool('COLLECTION_THREADS_GET', { id: threadId }, token).expect(200);
    expectProblem(await service.tool('RUN_GET', { id: newId() }, token), 403, 'permission_denied');
  });

  it('needs a grant on the agent in an organization that demands it for runs', async () => {
    const stranger = await makeKey({ self: THREAD_TOOLS });
    const granted = await makeKey({ self: THREAD_TOOLS, [agentId]: ['*'] });
    await database.query(`UPDATE organizations SET run_access = 'granted' WHERE slug = 'default'`);
    try {
      const input = { thread_id: threadId, permissions: ['post'] };
      expectProblem(await create(input, stranger.key), 403, 'permission_denied');
      await create(input, granted.key).expect(200);
    } finally {
      await database.query(`UPDATE organizations SET run_access = 'members' WHERE slug = 'default'`);
    }
  });
});

/** Resolves with the answer that is no longer `status`. */
function untilNot(status: number, send: () => supertest.Test): Promise<supertest.Response> {
  return eventually(async () => {
    const answer = await send();
    return answer.status !== status && answer;
  });
}

describe('a browser token ends', () => {
  const READ = ['read'];

  it('when it expires, with an open stream', async () => {
    // On a slow machine, a token can expire before its first use.
    const { token, stream } = await eventually(async () => {
      const made = await makeToken(READ, undefined, { expiresIn: 2 });
      const opened = await openStream(service.url, 'default', threadId, made, { query: { follow: 'true' } });
      return opened.status !== 401 && { token: made, stream: opened };
    });
    expect(stream.status).toBe(200);
    await expect(stream.collectUntilDone()).rejects.toThrow();
    const answer = await untilNot(204, () => peek(token));
    expectProblem(answer, 401, 'credential_expired');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('when the key that made it is deleted, in every process, with open streams', async () => {
    const other = await startTestApp({ database: service.database });
    try {
      const maker = await makeKey({ self: THREAD_TOOLS });
      const token = await makeToken(READ, maker.key);
      const stream = await openStream(other.url, 'default', threadId, token, { query: { follow: 'true' } });
      expect(stream.status).toBe(200);
      const ended = expect(stream.collectUntilDone()).rejects.toThrow();
      await peek(token).expect(204);
      await service.tool('API_KEY_DELETE', { id: maker.id }).expect(200);
      expectProblem(await untilNot(204, () => peek(token)), 401, 'credential_invalid');
      await ended;
    } finally {
      await other.close();
    }
  });

  it('when the key that made it has expired', async () => {
    const maker = await makeKey({ self: THREAD_TOOLS });
    const token = await makeToken(READ, maker.key);
    await database.query(`UPDATE api_keys SET expires_at = now() WHERE id = $1`, [maker.id]);
    expectProblem(await peek(token), 401, 'credential_invalid');
  });

  it('when the person whose key made it is no longer a member', async () => {
    const userId = newId();
    await database.query(`INSERT INTO users (id, name, email) VALUES ($1, 'Ann', 'ann@example.com')`, [userId]);
    await database.query(
      `INSERT INTO members (organization_id, user_id, role) SELECT id, $1, 'admin' FROM organizations WHERE slug = 'default'`,
      [userId],
    );
    const maker = await makeKey({ self: THREAD_TOOLS });
    await database.query('UPDATE api_keys SET user_id = $2 WHERE id = $1', [maker.id, userId]);
    const token = await makeToken(READ, maker.key);
    await peek(token).expect(204);
    await database.query('DELETE FROM members WHERE user_id = $1', [userId]);
    expectProblem(await untilNot(204, () => peek(token)), 401, 'credential_invalid');
  });

  it('with its thread', async () => {
    const doomed = await createThread(service, agentId);
    const { body } = await service.tool('THREAD_TOKEN_CREATE', { thread_id: doomed, permissions: READ }).expect(200);
    await service.tool('COLLECTION_THREADS_DELETE', { id: doomed }).expect(200);
    expectProblem(await peek(body.token, doomed), 401, 'credential_invalid');
  });
});

it('loses what the key that made it loses', async () => {
  const maker = await makeKey({ self: THREAD_TOOLS });
  const token = await makeToken(['read'], maker.key);
  await service.tool('COLLECTION_THREADS_GET', { id: threadId }, token).expect(200);
  await service.tool('API_KEY_UPDATE', { id: maker.id, permissions: { self: ['THREAD_TOKEN_CREATE'] } }).expect(200);
  const answer = await untilNot(200, () => service.tool('COLLECTION_THREADS_GET', { id: threadId }, token));
  expectProblem(answer, 403, 'permission_denied');
  await peek(token).expect(204);
});

it('expired tokens are deleted when others are made', async () => {
  await makeToken(['read']);
  await database.query(`UPDATE thread_tokens SET expires_at = now() - interval '2 minutes'`);
  await makeToken(['read']);
  expect(await database.query('SELECT id FROM thread_tokens')).toHaveLength(1);
});
