import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationOptions } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { Module } from '@nestjs/common';
import supertest from 'supertest';
import { OfficeHoursModule } from '../../examples/extension/office-hours/office-hours.module.js';
import { type UpstreamConnector, UpstreamKind } from '../../src/connections/upstream-kind.js';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { agentOf, callThrough, gatewayPath, listThrough } from '../support/gateway-agents.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/eventually.js';

const SECRET = 'secret-that-nobody-may-see';

/** An upstream to which the test does what can happen to one. */
const ledger: { fault?: Error; server?: McpServer; opened: number } = { opened: 0 };

@UpstreamKind('LEDGER')
class Ledger implements UpstreamConnector {
  readonly needsUrl = true;

  async openTransport(): Promise<InMemoryTransport> {
    if (ledger.fault !== undefined) throw ledger.fault;
    ledger.opened++;
    const server = new McpServer({ name: 'ledger', version: '1.0.0' });
    server.registerTool('balance', {}, () => ({ content: [{ type: 'text', text: `session ${ledger.opened}` }] }));
    server.registerTool('confirm', {}, async ({ mcpReq }) => {
      const requestedSchema = { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } };
      const { action } = await mcpReq.elicitInput({ message: 'Sure?', requestedSchema });
      return { content: [{ type: 'text', text: action }] };
    });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server.connect(theirs);
    ledger.server = server;
    return ours;
  }
}

@Module({ providers: [Ledger] })
class LedgerModule {}

const lines: string[] = [];
let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createTestDatabase();
  app = await startTestApp({
    database,
    modules: [OfficeHoursModule, LedgerModule],
    env: { LOG_LEVEL: 'warn' },
    onLogLine: (line) => lines.push(line),
  });
});
afterAll(async () => {
  await app?.close();
  await database?.drop();
});

async function connect(data: object = {}): Promise<string> {
  const defaults = { connection_type: 'OFFICE_HOURS', title: 'Office' };
  const { body } = await app.tool('COLLECTION_CONNECTIONS_CREATE', { data: { ...defaults, ...data } }).expect(200);
  return body.item.id;
}

const pathOf = (id: string): string => `/api/default/mcp/${id}`;
const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

async function callAsClient(id: string, versionNegotiation: VersionNegotiationOptions): Promise<string> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
  const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(pathOf(id), app.url), { requestInit }));
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['opening_hours']);
    return textOf(await client.callTool({ name: 'opening_hours', arguments: {} }));
  } finally {
    await client.close();
  }
}

describe('an upstream kind of an extension', () => {
  it('is called without a session, and in a session of either era', async () => {
    const id = await connect({ connection_headers: { headers: { 'x-office': 'Paris' } } });
    const called = await callThrough(app, pathOf(id), 'opening_hours');
    expect(textOf(called.rpc.result)).toBe('Paris is open from 9 to 17.');
    expect(await callAsClient(id, { mode: 'legacy' })).toBe('Paris is open from 9 to 17.');
    expect(await callAsClient(id, { mode: { pin: '2026-07-28' } })).toBe('Paris is open from 9 to 17.');
  });

  it('is part of agents and of their runs', async () => {
    const id = await connect();
    const path = gatewayPath(app, await agentOf(app, [id]));
    expect((await listThrough(app, path)).names).toEqual(['opening_hours']);
    expect(textOf((await callThrough(app, path, 'opening_hours')).rpc.result)).toBe('Berlin is open from 9 to 17.');
    const agent = await createAgent(app, [id]);
    const thread = await ThreadClient.create(app, agent);
    await thread.waitFor(await thread.postMessage('/call opening_hours {}'), 'completed');
    const { body } = await app.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: thread.id }).expect(200);
    expect(JSON.stringify(body.items.at(-1).parts)).toContain('Berlin is open from 9 to 17.');
  });

  it('is tested, listed and edited like any other connection', async () => {
    const id = await connect();
    const tested = await app.tool('CONNECTION_TEST', { id }).expect(200);
    expect(tested.body).toMatchObject({ ok: true, tools: 1 });
    const where = { field: ['connection_type'], operator: 'eq', value: 'OFFICE_HOURS' };
    const listed = await app.tool('COLLECTION_CONNECTIONS_LIST', { where }).expect(200);
    expect(listed.body.items.map((item: { id: string }) => item.id)).toContain(id);
    expect((await callThrough(app, pathOf(id), 'opening_hours')).status).toBe(200);
    const data = { connection_headers: { headers: { 'x-office': 'Rome' } } };
    await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data }).expect(200);
    expect(textOf((await callThrough(app, pathOf(id), 'opening_hours')).rpc.result)).toContain('Rome');
  });

  it('has its tools checked for permission', async () => {
    const id = await connect();
    const permissions = { [id]: ['other_tool'] };
    const { body } = await app.tool('API_KEY_CREATE', { name: 'limited', permissions }).expect(200);
    expect((await callThrough(app, pathOf(id), 'opening_hours', {}, body.key)).status).toBe(403);
  });

  it('is one of the values that the tools take and describe', async () => {
    const { body } = await supertest(app.url).get('/openapi.json').expect(200);
    const { properties } = body.components.schemas.ConnectionCreateData;
    expect(properties.connection_type.enum.toSorted()).toEqual(['HTTP', 'LEDGER', 'OFFICE_HOURS', 'STDIO']);
    const data = { connection_type: 'FTP', title: 'Office' };
    const refused = await app.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.detail).toContain('OFFICE_HOURS');
  });

  it('has an address and credentials, but no program', async () => {
    const data = { connection_type: 'OFFICE_HOURS', title: 'Office', stdio: { command: 'node' } };
    const refused = await app.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toMatchObject([{ path: 'data.stdio', code: 'not_of_office_hours' }]);
    const withoutUrl = await app.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { connection_type: 'LEDGER', title: 'L' },
    });
    expectProblem(withoutUrl, 400, 'invalid_request');
    expect(withoutUrl.body.errors[0].path).toBe('data.connection_url');
  });

  it('does not send credentials stored without an address to one stored later', async () => {
    const id = await connect({ connection_token: SECRET });
    const data = { connection_url: 'https://elsewhere.example/mcp' };
    const refused = await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors[0].code).toBe('credentials_kept');
  });
});

describe('an upstream of an extension kind', () => {
  const ledgerConnection = (): Promise<string> =>
    connect({ connection_type: 'LEDGER', connection_url: 'https://ledger.example/mcp' });

  it('that cannot be opened is unavailable; the reason is only logged', async () => {
    const id = await ledgerConnection();
    ledger.fault = new Error('ledger:7000 is closed');
    lines.length = 0;
    const refused = await callThrough(app, pathOf(id), 'balance');
    delete ledger.fault;
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('The upstream at ledger could not be opened.');
    expect(refused.text).not.toContain('7000');
    expect(lines.filter((line) => line.includes('ledger:7000 is closed') && line.includes(id))).not.toEqual([]);
    expect((await callThrough(app, pathOf(id), 'balance')).status).toBe(200);
  });

  it('that asks is answered by the clients of its connection and of agents', async () => {
    const id = await ledgerConnection();
    for (const path of [pathOf(id), gatewayPath(app, await agentOf(app, [id]))]) {
      const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'legacy' as const } };
      const client = new Client({ name: 'test', version: '1' }, options);
      const questions: string[] = [];
      client.setRequestHandler('elicitation/create', ({ params }) => {
        questions.push(params.message);
        return { action: 'accept', content: { sure: true } };
      });
      const requestInit = { headers: { authorization: `Bearer ${app.apiKey}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(path, app.url), { requestInit }));
      expect(textOf(await client.callTool({ name: 'confirm', arguments: {} }))).toBe('accept');
      expect(questions).toEqual(['Sure?']);
      await client.close();
    }
  });

  it('that has closed its transport gets a new session', async () => {
    const id = await ledgerConnection();
    const first = textOf((await callThrough(app, pathOf(id), 'balance')).rpc.result);
    expect(textOf((await callThrough(app, pathOf(id), 'balance')).rpc.result)).toBe(first);
    await ledger.server?.close();
    expect(textOf((await callThrough(app, pathOf(id), 'balance')).rpc.result)).not.toBe(first);
  });

  it('announces changes of its tools to agents', async () => {
    const id = await ledgerConnection();
    const path = gatewayPath(app, await agentOf(app, [id]));
    expect((await listThrough(app, path)).names).toEqual(['balance', 'confirm']);
    ledger.server?.registerTool('close', {}, () => ({ content: [] }));
    await eventually(async () => expect((await listThrough(app, path)).names).toContain('close'));
  });

  it('is unavailable where its module is missing', async () => {
    const id = await connect();
    const without = await startTestApp({ database });
    try {
      const refused = await callThrough(without, pathOf(id), 'opening_hours', {}, app.apiKey);
      expect(refused.status).toBe(503);
      expect(refused.text).toContain('This service does not have the connection type OFFICE_HOURS.');
      const data = { connection_type: 'OFFICE_HOURS', title: 'Office' };
      const created = await without.tool('COLLECTION_CONNECTIONS_CREATE', { data }, app.apiKey);
      expectProblem(created, 400, 'invalid_request');
      expect(created.body.errors).toMatchObject([{ path: 'data.connection_type', code: 'is_in' }]);
    } finally {
      await without.close();
    }
  });
});
