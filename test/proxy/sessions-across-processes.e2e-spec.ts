import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import type { TestApp } from '../support/app.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import { callProxy, openProxy, pathOf, type ProxyAnswer, rpc, rpcOf, toolCall } from '../support/proxy-calls.js';
import { connectProgram, connectTo } from '../support/proxy-connections.js';
import { eventually } from '../support/eventually.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { ServiceProcess } from '../support/service-process.js';

const START_MS = 180_000;
const PROGRAM = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));
const TOOLS = ['echo', 'ask'].map((name) => ({ name, inputSchema: { type: 'object' } }));
/** A client that answers requests, so that an agent opens sessions with its connections for it. */
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'test', version: '1' },
  capabilities: { sampling: {} },
};

/** One `api` process as a client reaches it. */
type Client = Pick<TestApp, 'url' | 'apiKey' | 'org' | 'tool'> & { process: ServiceProcess };

let database: TestDatabase;
let upstream: ScriptedServer;
let env: Record<string, string>;
/** Three processes behind a load balancer without sticky routing. The first one is killed in the end. */
let [a, b, c]: Client[] = [];
let paths: Record<string, string>;
/** The tool calls that wait for the client's answer. */
const waiting: { response: ServerResponse; id: RpcMessage['id'] }[] = [];

beforeAll(async () => {
  upstream = await startScripted(legacyServer(serveTools).script);
  database = await createTestDatabase();
  env = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('sessions'),
    BOOTSTRAP_API_KEY: generateApiKey(),
    UPSTREAM_ALLOW_PRIVATE: 'true',
    STDIO_COMMANDS: 'node',
    ROLE: 'api',
    LOG_LEVEL: 'error',
  };
  [a, b, c] = [await start(), await start(), await start()];
  const [http, program] = [await connectTo(at(a), upstream.url), await connectProgram(at(a), [PROGRAM])];
  paths = {
    'a connection over HTTP': pathOf(at(a), http),
    'a program': pathOf(at(a), program),
    'an agent over HTTP': gatewayPath(at(a), await agentOf(at(a), [http])),
    'an agent over a program': gatewayPath(at(a), await agentOf(at(a), [program])),
  };
}, START_MS);

afterAll(async () => {
  await Promise.all([a, b, c].map((client) => client?.process.kill('SIGTERM')));
  await upstream?.close();
  await database?.drop();
});

const ASKING_KINDS = ['a connection over HTTP', 'an agent over HTTP'];
const KINDS = ['a connection over HTTP', 'a program', 'an agent over HTTP', 'an agent over a program'];

describe.each(KINDS)('a session with %s', (kind) => {
  it('that one process opened works in a second one, and ends in a third one', async () => {
    const session = await open(a, kind);
    expect(rpcOf(await echo(b, kind, session)).result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    expect(rpcOf(await echo(c, kind, session)).result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    expect((await end(c, kind, session)).status).toBe(200);
    for (const client of [a, b, c]) expectUsableOrUnknown(await echo(client, kind, session));
    // A second DELETE finds nothing that could hang.
    expect([200, 404]).toContain((await end(b, kind, session)).status);
  });
});

describe.each(ASKING_KINDS)('a request of the server behind %s', (kind) => {
  it('can be answered in another process than the one that relayed it', async () => {
    const session = await open(a, kind);
    const { id, rest } = await ask(a, kind, session);
    expect((await answer(b, kind, session, id)).status).toBe(202);
    expect(await rest).toContain('answered');
  });
});

describe('a request of a program', () => {
  const kind = 'a program';

  it('is answered with 404 in a process that does not run this program, so that the client starts again', async () => {
    const session = await open(a, kind);
    const { id, rest } = await ask(a, kind, session);
    // No other process has used the session, or started a program for it.
    const elsewhere = await answer(b, kind, session, id);
    expect({ status: elsewhere.status, code: rpcOf(elsewhere).error?.data.code }).toEqual({
      status: 404,
      code: 'session_not_found',
    });
    expect((await answer(a, kind, session, id)).status).toBe(202);
    expect(await rest).toContain('answered');
  });
});

describe('when the process that opened sessions is killed', () => {
  const sessions = {} as Record<string, Record<string, string>>;
  const asked: Record<string, { session: Record<string, string>; id: unknown }> = {};

  beforeAll(async () => {
    const ends: Promise<unknown>[] = [];
    for (const kind of KINDS) {
      const session = (sessions[kind] = await open(a, kind));
      expect((await echo(a, kind, session)).status).toBe(200);
      const stream = await openProxy(at(a), pathFor(kind), { method: 'GET', key: key(), headers: session });
      ends.push(new Promise((resolve) => stream.once('close', resolve).resume().once('error', resolve)));
    }
    for (const kind of [...ASKING_KINDS, 'a program']) {
      const session = await open(a, kind);
      const { id, rest } = await ask(a, kind, session);
      asked[kind] = { session, id };
      ends.push(expect(rest).rejects.toThrow());
    }
    await a?.process.kill('SIGKILL');
    await Promise.all(ends);
  }, START_MS);

  it.each(KINDS)('a session with %s outlives it', async (kind) => {
    const session = sessions[kind] ?? {};
    expectUsableOrUnknown(await echo(b, kind, session));
    expectUsableOrUnknown(await echo(c, kind, session));
    const again = await openProxy(at(b), pathFor(kind), { method: 'GET', key: key(), headers: session });
    expect([200, 404, 405]).toContain(again.statusCode);
    again.destroy();
    expect([200, 404]).toContain((await end(c, kind, session)).status);
  });

  it.each(ASKING_KINDS)('a request of the server behind %s is not waited for', async (kind) => {
    const { session = {}, id } = asked[kind] ?? {};
    expect([202, 404]).toContain((await answer(b, kind, session, id)).status);
    expectUsableOrUnknown(await echo(b, kind, session));
  });

  it('a request of a program is answered with 404', async () => {
    const { session = {}, id } = asked['a program'] ?? {};
    expect((await answer(b, 'a program', session, id)).status).toBe(404);
    expectUsableOrUnknown(await echo(b, 'a program', session));
  });
});

async function start(): Promise<Client> {
  const process = new ServiceProcess(env);
  const { url } = await process.listening();
  const tool: TestApp['tool'] = (name, body = {}) =>
    supertest(url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${key()}`).send(body);
  return { process, url, org: 'default', apiKey: key(), tool };
}

function key(): string {
  return env['BOOTSTRAP_API_KEY'] ?? '';
}

/** The helpers of the proxy's tests need an address and a key only. */
function at(client: Client | undefined): TestApp {
  return client as unknown as TestApp;
}

function pathFor(kind: string): string {
  return paths[kind] ?? '';
}

/** Initializes a session; returns the headers of its requests. */
async function open(client: Client | undefined, kind: string): Promise<Record<string, string>> {
  const opened = await callProxy(at(client), pathFor(kind), { key: key(), body: rpc('initialize', INITIALIZE) });
  expect({ status: opened.status, text: opened.text }).toMatchObject({ status: 200 });
  return {
    'mcp-session-id': String(opened.headers['mcp-session-id']),
    'mcp-protocol-version': '2025-11-25',
    accept: 'application/json, text/event-stream',
  };
}

/** In JSON, so that the answers of all kinds have one form. */
function echo(client: Client | undefined, kind: string, session: Record<string, string>): Promise<ProxyAnswer> {
  const headers = { ...session, accept: 'application/json' };
  return callProxy(at(client), pathFor(kind), { key: key(), headers, body: toolCall('echo', { text: 'hi' }) });
}

function end(client: Client | undefined, kind: string, headers: Record<string, string>): Promise<ProxyAnswer> {
  return callProxy(at(client), pathFor(kind), { method: 'DELETE', key: key(), headers });
}

/** Calls the tool that asks the client; returns the id of its request, and the rest of the call's stream. */
async function ask(client: Client | undefined, kind: string, headers: Record<string, string>) {
  const stream = await openProxy(at(client), pathFor(kind), { key: key(), headers, body: toolCall('ask') });
  let text = '';
  const rest = (async (): Promise<string> => {
    for await (const chunk of stream) text += String(chunk);
    return text;
  })();
  rest.catch(() => undefined);
  await eventually(() => /sampling\/createMessage[^]*\n\n/.test(text));
  const data = text.split('\n').find((line) => line.startsWith('data:') && line.includes('sampling/createMessage'));
  return { id: (JSON.parse(data?.slice('data:'.length) ?? '{}') as RpcMessage).id, rest };
}

function answer(client: Client | undefined, kind: string, headers: Record<string, string>, id: unknown) {
  const result = { role: 'assistant', content: { type: 'text', text: 'answered' } };
  return callProxy(at(client), pathFor(kind), { key: key(), headers, body: { jsonrpc: '2.0', id, result } });
}

function expectUsableOrUnknown(answered: ProxyAnswer): void {
  const { result, error } = rpcOf(answered);
  if (answered.status === 200) expect(result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
  else expect([answered.status, error?.data.code]).toEqual([404, 'session_not_found']);
}

/** The tools of the scripted server: `echo`, and `ask`, which returns what the client answers. */
function serveTools({ message }: { message: RpcMessage }, response: ServerResponse): void {
  if (message.method === undefined) {
    const asked = waiting.shift();
    const done = { jsonrpc: '2.0', id: asked?.id, result: { content: [{ type: 'text', text: 'answered' }] } };
    asked?.response.end(`data: ${JSON.stringify(done)}\n\n`);
    response.writeHead(202).end();
    return;
  }
  if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
  if (message.method !== 'tools/call') return sendResult(response, message, {});
  const { name, arguments: args } = message.params as { name: string; arguments?: { text?: string } };
  if (name === 'echo') return sendResult(response, message, { content: [{ type: 'text', text: args?.text }] });
  waiting.push({ response, id: message.id });
  const request = { jsonrpc: '2.0', id: 7, method: 'sampling/createMessage', params: { messages: [] } };
  response.writeHead(200, SSE_TYPE).write(`event: message\ndata: ${JSON.stringify(request)}\n\n`);
}
